"""JUnit XML that every reader accepts, whatever a peer wrote into a message."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from lasttick.evidence import RunVerdicts, ScenarioResult, Verdict, junit_xml


def scenario(id_: str, verdict: object, reason: str = "") -> ScenarioResult:
    checks = (Verdict("HA-05", verdict, reason, 1.0),)  # type: ignore[arg-type]
    return ScenarioResult(id_, ("HA-05",), (), verdict, reason, 0.5, 9.0, checks=checks)  # type: ignore[arg-type]


def test_each_verdict_as_ci_systems_show_it() -> None:
    results = [
        scenario("hostagent/lease/a[x/y]", "pass"),
        scenario("hostagent/lease/b", "fail", "two holders"),
        scenario("hostagent/lease/c", "inconclusive", "no refusal seen"),
        scenario("hostagent/lease/d", "not_applicable", "needs wall-clock; process mode has none"),
    ]
    root = ElementTree.fromstring(junit_xml(RunVerdicts.of(results, seed=7, mode="virtual")))
    suite = root.find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
        "time": "2.000",
    }
    cases = suite.findall("testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [
        ("hostagent.lease", "a[x/y]"),
        ("hostagent.lease", "b"),
        ("hostagent.lease", "c"),
        ("hostagent.lease", "d"),
    ]
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["failure"], ["skipped"]]
    messages = [child.get("message") for case in cases for child in case]
    assert messages == [
        "FAIL: two holders",
        "INCONCLUSIVE: no refusal seen",
        "needs wall-clock; process mode has none",
    ]


def test_a_law_tells_its_cases_and_the_replies_it_rests_on() -> None:
    law = replace(scenario("laws/lease/exclusive", "fail", "two"), cases=3, judged="effects", replies=("bob -> ok",))
    case = ElementTree.fromstring(junit_xml(RunVerdicts.of([law], seed=7, mode="live"))).find(".//testcase")
    assert case is not None
    assert [(part.get("name"), part.get("value")) for part in case.iter("property")] == [
        ("cases", "3"),
        ("judged", "effects"),
    ]
    assert str(case.findtext("failure")) == "HA-05 fail: two\nbob -> ok"


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_no_text_makes_it_unreadable(text: str) -> None:
    run = RunVerdicts.of([scenario(f"a/b[{text}]", "fail", text)], seed=1, mode="virtual")
    document = junit_xml(run)
    assert "\x00" not in document
    ElementTree.fromstring(document.encode())
