"""The page of a run: a function of its folder, well-formed, escaped, capped in drawing, and never a crash."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.checks import STANDING, exclusive
from lasttick.engine.trace import Event, Trace, trace_sha256
from lasttick.evidence import EvidenceError, Examples, Falsified, RunFolder, ScenarioResult, trace_path, write_catalogue
from lasttick.report.html import render, write_report
from lasttick.report.html_lanes import lanes_html
from lasttick.report.html_style import STYLE

SNAPSHOT = Path(__file__).parents[1] / "snapshots" / "report.html"
MANIFEST = {
    "version": 1,
    "run": "20260102T120000Z-ab12",
    "started": "2026-01-02T12:00:00Z",
    "seed": 7,
    "mode": "virtual",
    "examples_max": None,
    "targets": {"hostagent": "mutant:hostagent/lease-expires-mid-call"},
    "command_line": ["pytest", "scenarios"],
    "versions": {"python": "3.11.0", "lasttick": "0.1.0"},
}
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A run folder with the given results and, by their ids, events."""

    def make(results: Iterable[ScenarioResult], events: dict[str, list[Event]] | None = None) -> Path:
        folder = RunFolder(tmp_path / "reports" / "runs" / "20260102T120000Z-ab12")
        folder.path.mkdir(parents=True, exist_ok=True)
        (folder.path / "manifest.json").write_text(json.dumps(MANIFEST))
        for id_, told in (events or {}).items():
            folder.write_trace(id_, told)
        write_catalogue(folder.path, {"HA-05": "At most one holder & no more.", "lease/exclusive": "One at a time."})
        folder.finish(results, seed=7, mode="virtual")
        return folder.path

    return make


def result(id_: str, events: list[Event] | None = None, **changes: Any) -> ScenarioResult:
    plain = ScenarioResult(id_, ("HA-05",), (), "pass", "", 0.25, 120.0, text="A story.\n\nWhat must hold.")
    if events is not None:
        checks = tuple(check(events) for check in STANDING)
        plain = replace(plain, trace=str(trace_path(id_)), trace_sha256=trace_sha256(events), checks=checks)
    return replace(plain, **changes)


def elements(page: str) -> ElementTree.Element:
    """Raises ParseError when the page is not well-formed."""
    return ElementTree.fromstring(page)


def two_holders(calls: Any) -> list[Event]:
    calls.trace.emit("harness", "example", None, number=3, arguments={"ticks": "<-1>"})
    calls.add(0, "agent-a", "session.open", session="s1", host="host").call("agent-a", 0, 90)
    calls.call("agent-b", 10, 10, refused="device_busy").call("agent-b", 60, 120)
    calls.add(60, "harness", "trouble", device_id="phone-1", what="slow").add(121, "host", "part.stop")
    return list(calls.events[1:])


def test_the_page_as_a_whole(make: Make, calls: Any) -> None:
    events = two_holders(calls)
    check = exclusive(events)
    failed = result(
        "hostagent/lease/long-call[tap]",
        events,
        laws=("lease/exclusive",),
        verdict="fail",
        reason=check.reason,
        examples=Examples(25, 4),
        falsified=Falsified(
            {"ticks": "<-1>"}, "lasttick replay 20260102T120000Z-ab12 'hostagent/lease/long-call[tap]'"
        ),
    )
    skipped = result("hostagent/clock/steps", verdict="not_applicable", reason="needs wall-clock")
    page = render(make([failed, skipped], {failed.id: events})).replace(STYLE, "")
    elements(page)
    if not SNAPSHOT.exists() or page != SNAPSHOT.read_text(encoding="utf-8"):
        (SNAPSHOT.parent / "report.new.html").write_text(page, encoding="utf-8")
        pytest.fail("the page changed: look at tests/snapshots/report.new.html, then move it to report.html")


def test_the_same_folder_gives_the_same_bytes(make: Make, calls: Any, tmp_path: Path) -> None:
    events = two_holders(calls)
    folder = make([result("a/b/c", events)], {"a/b/c": events})
    first = write_report(folder).read_bytes()
    moved = folder.rename(tmp_path / "elsewhere")
    assert write_report(moved, tmp_path / "out.html").read_bytes() == first


@pytest.mark.parametrize("config", ["lasttick.toml", "my lab.toml"])
def test_a_check_on_a_live_target(make: Make, calls: Any, config: str) -> None:
    """Its replies are there; nothing says virtual time, and what plays it again is a check."""
    calls.add(0, "bob", "call.start", "c1", tool="lease.acquire", device_id=None)
    calls.add(1, "bob", "call.end", "c1", tool="lease.acquire", ok=False, http_status=409, outcome="busy")
    events = list(calls.events)
    replies = ('  [0.000-1.000 s] bob lease.acquire -> busy: HTTP 409\r\n\r\n{"why": "<busy>"}',)
    failed = result("laws/lease/exclusive", events, laws=("lease/exclusive",), verdict="fail", reason="two", cases=1)
    failed = replace(failed, requirements=(), replies=replies, virtual_s=0.0, duration_s=1.15)
    folder = make([failed], {failed.id: events})
    live = {
        "mode": "live",
        "targets": {"target": config},
        "command_line": ["pytest", "-q", "--lasttick-config", config],
    }
    (folder / "manifest.json").write_text(json.dumps({**MANIFEST, **live}))
    page = render(folder)
    text = " ".join(elements(page).itertext())
    assert 'bob lease.acquire -> busy: HTTP 409 {"why": "<busy>"}' in text
    assert "virtual time" not in text
    assert "0.000 s played" not in text
    assert "played for 1.150 s" in text
    assert "lasttick replay" not in text
    assert "pytest" not in text
    option = "" if config == "lasttick.toml" else " --config 'my lab.toml'"
    assert f"lasttick check{option} --only lease/exclusive" in text
    live["targets"] = {"target": "http://127.0.0.1:7/mcp"}
    (folder / "manifest.json").write_text(json.dumps({**MANIFEST, **live}))
    assert "http://127.0.0.1:7/mcp" in render(folder)


def test_nothing_is_loaded_and_nothing_runs(make: Make, calls: Any) -> None:
    events = two_holders(calls)
    page = render(make([result("a/b/c", events)], {"a/b/c": events}))
    tree = elements(page)
    names = {element.tag for element in tree.iter()}
    assert not names & {"script", "link", "img", "iframe", "object", "image", "use"}
    for element in tree.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name != "src"
            assert name != "href" or value.startswith("#")
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page.replace("&#x27;", "'")


HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J\ud800\u202e]]>-->"


def test_everything_is_escaped(make: Make, calls: Any) -> None:
    calls.trace.emit("harness", "example", None, number=1, arguments={HOSTILE: HOSTILE})
    calls.call(HOSTILE, 0, 5, device=HOSTILE, tool=HOSTILE, refused=None)
    calls.call("alice", 6, 7, refused=HOSTILE).add(8, HOSTILE, "trouble", what=HOSTILE)
    events = list(calls.events)
    bad = result("a/b/c[" + HOSTILE + "]", events, text=HOSTILE, reason=HOSTILE, verdict="fail")
    bad = replace(bad, falsified=Falsified({HOSTILE: HOSTILE}, HOSTILE), requirements=(HOSTILE,), laws=(HOSTILE,))
    page = render(make([bad], {bad.id: events}))
    tree = elements(page)
    assert "script" not in {element.tag for element in tree.iter()}
    assert "<script" not in page
    for char in ("\x1b", "\ud800", "\u202e"):
        assert char not in page
    page.encode("utf-8")


def test_drawing_is_capped_and_says_so(make: Make, calls: Any) -> None:
    events: list[Event] = []
    for number in range(1, 6):
        calls.trace.emit("harness", "example", None, number=number, arguments={"n": str(number)})
        for index in range(80):
            calls.call(f"client-{index % 14}", index, index + 0.2, device=f"phone-{index % 9}")
    events = list(calls.events[1:])
    page = render(make([result("a/b/c", events)], {"a/b/c": events}))
    assert "2 of 5 kept examples are drawn; the trace has all of them." in page
    assert "Not drawn: 2 more actors, 3 more devices." in page
    assert ".. and" in page
    for index in range(80):
        calls.call("busy", 1000 + index, 1000 + index + 0.1)
    assert "more, not drawn" in lanes_html(calls.events[-320:])


def test_the_falsified_example_comes_first(make: Make, calls: Any) -> None:
    for number in (1, 2, 3, 40):
        calls.trace.emit("harness", "example", None, number=number, arguments={"n": str(number)})
        calls.call("alice", 0, 1)
    events = list(calls.events[1:])
    failed = result("a/b/c", events, verdict="fail", falsified=Falsified({"n": "40"}, "lasttick replay latest a/b/c"))
    page = render(make([failed], {"a/b/c": events}))
    assert re.findall(r"<figcaption>([^<]*)", page) == ["Example 40, falsified and shrunk: n=40", "Example 1: n=1"]


def test_the_worst_comes_first(make: Make) -> None:
    words: tuple[Any, ...] = ("pass", "not_applicable", "fail", "inconclusive")
    page = render(make([result(f"a/b/{word}", verdict=word, reason="because") for word in words]))
    order = [element.attrib["class"] for element in elements(page).iter("details") if "id" in element.attrib]
    assert order == ["scenario fail", "scenario inconclusive", "scenario pass", "scenario not_applicable"]
    opened = [element.attrib["class"] for element in elements(page).iter("details") if "open" in element.attrib]
    assert opened == ["scenario fail", "scenario inconclusive"]


def test_links_lead_somewhere(make: Make) -> None:
    tree = elements(render(make([result("a/b/one"), result("a/b/two", verdict="fail")])))
    anchors = {element.attrib["id"] for element in tree.iter() if "id" in element.attrib}
    links = [element.attrib["href"].removeprefix("#") for element in tree.iter("a")]
    assert len(links) == 2
    assert set(links) <= anchors


def test_an_empty_run(make: Make) -> None:
    elements(render(make([])))


def test_evidence_that_is_lost_is_said(make: Make, calls: Any) -> None:
    events = two_holders(calls)
    folder = make([result("a/b/c", events), result("a/b/d", events)], {"a/b/c": events})
    (folder / "traces/a/b/c.jsonl").write_text("{}\n")
    (folder / "catalogue.json").write_text("{")
    page = render(folder)
    elements(page)
    assert "c.jsonl, line 1" in page
    assert "d.jsonl can not be read" in page


def test_a_run_of_an_older_lasttick(make: Make, calls: Any) -> None:
    events = two_holders(calls)
    folder = make([result("a/b/c", events)], {"a/b/c": events})
    (folder / "catalogue.json").unlink()
    for name, gone in (("manifest.json", ("run", "examples_max")), ("verdicts.json", ())):
        document = json.loads((folder / name).read_text())
        for key in gone:
            del document[key]
        for scenario in document.get("scenarios", []):
            del scenario["text"]
        (folder / name).write_text(json.dumps(document))
    elements(render(folder))


def test_no_run_at_all(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        render(tmp_path)


TEXTS = st.text(st.characters(codec=None), max_size=6) | st.sampled_from(["phone-1", "alice", HOSTILE])
CLIENTS = ["example", "session.open", "session.end", "call.start", "call.end", "trouble", "said.x"]
OTHERS = ["driver.start", "driver.end", "cloud.assign", "cloud.result", "cloud.heartbeat"]
KINDS = st.sampled_from([*CLIENTS, *OTHERS, "part.start", "part.stop", "part.kill"])
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
DATA = st.fixed_dictionaries(
    {},
    optional={
        "tool": VALUES,
        "device_id": VALUES,
        "caller": TEXTS,
        "call": VALUES,
        "session": VALUES,
        "host": TEXTS,
        "ok": VALUES,
        "reason": VALUES,
        "status": VALUES,
        "ttl_s": st.floats(0, 1e6),
        "number": VALUES,
        "arguments": st.dictionaries(TEXTS, TEXTS, max_size=2),
    },
)
EVENTS = st.lists(
    st.builds(
        lambda t_ns, actor, kind, ref, data: Event(0, t_ns, "", actor, kind, ref, data),
        st.integers(0, 10**18) | st.sampled_from([0, 1, 60_000_000_000]),
        TEXTS,
        KINDS,
        st.none() | st.sampled_from(["c1", "d1"]),
        DATA,
    ),
    max_size=12,
).map(lambda events: [replace(event, seq=seq) for seq, event in enumerate(events)])


@settings(deadline=None)
@given(EVENTS, st.none() | st.floats(-1, 1e9))
def test_any_trace_is_drawn_well_formed(events: list[Event], moment_s: float | None) -> None:
    elements(f"<p>{lanes_html(events, moment_s=moment_s)}</p>")


@settings(deadline=None)
@given(EVENTS, DATA, st.integers() | TEXTS)
def test_a_wild_trace_never_stops_the_page(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event], data: dict[str, Any], ttl: Any
) -> None:
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    root = folder.path / "runs" / "20260102T120000Z-x"
    root.mkdir(parents=True)
    folder = RunFolder(root)
    (root / "manifest.json").write_text(json.dumps(MANIFEST))
    wild = Trace()
    wild.emit("host", "part.start", None, t_ns=0, ttl_s=ttl, **{"odd": data})
    wild.emit("harness", "example", None, t_ns=0, arguments=ttl)
    told = [replace(event, seq=seq) for seq, event in enumerate([*wild.events, *events])]
    folder.write_trace("a/b/c", told)
    checked = ScenarioResult("a/b/c", ("HA-05",), (), "pass", "", 0.0, 0.0, trace=str(trace_path("a/b/c")))
    folder.finish([checked], seed=1, mode="virtual")
    elements(render(root))


def test_a_hundred_scenarios_take_no_time_worth_noting(make: Make, calls: Any) -> None:
    """Not measured by a clock, which other work on the machine would stop: the page stays small for what it shows."""
    for number in range(30):
        calls.trace.emit("harness", "example", None, number=number, arguments={"n": str(number)})
        for index in range(5):
            calls.call(f"client-{index % 3}", index, index + 0.5)
    events = list(calls.events[1:])
    ids = [f"a/b/s{number}" for number in range(100)]
    page = render(make([result(id_, events) for id_ in ids], dict.fromkeys(ids, events)))
    assert len(page) < 100 * 20_000


def test_a_picture_that_was_left_behind_is_shown_and_allowed_only_then(make: Make) -> None:
    assert "img-src" not in render(make([result("hostagent/lease/story")]))
    folder = make([result("hostagent/lease/story", artifacts=("artifacts/board.png",))])
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "board.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    page = elements(render(folder))
    assert [image.get("alt") for image in page.iter("img")] == ["board"]
    policy = next(meta.get("content") for meta in page.iter("meta") if meta.get("http-equiv"))
    assert policy is not None
    assert policy.endswith("img-src data:")
