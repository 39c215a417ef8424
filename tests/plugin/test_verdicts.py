"""What a run leaves behind for each way a scenario can end, and what it prints."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

STORY = '''
@scenario("HA-04")
async def test_passes(world: World) -> None:
    """Holds."""
    host = await world.hostagent()
    assert (await (await host.client("alice")).tap("phone-1")).ok
    await world.advance(90)

@scenario("HA-06", "HA-13")
async def test_fails(world: World) -> None:
    """Does not hold."""
    host = await world.hostagent()
    await (await host.client("alice")).tap("phone-1")
    await world.advance(90)
    assert 1 == 2, "one is not two"

@scenario("HA-08")
async def test_cannot_tell(world: World) -> None:
    world.inconclusive("no heartbeat was seen")

@scenario("HA-15", needs=("kill-process",))
async def test_not_here(world: World) -> None:
    raise AssertionError("must not be played")

@pytest.mark.parametrize("number", [1, 2])
@scenario("HA-04")
async def test_twice(world: World, number: int) -> None:
    assert number in (1, 2)
'''


def test_every_way_to_end(project: Any) -> None:
    project.write(STORY)
    ran = project.run()
    assert ran.code == 1
    assert ran.words == {
        "passes": "pass",
        "fails": "fail",
        "cannot-tell": "inconclusive",
        "not-here": "not_applicable",
        "twice[1]": "pass",
        "twice[2]": "pass",
    }
    document = ran.verdicts
    assert document["counts"] == {"pass": 3, "fail": 1, "inconclusive": 1, "not_applicable": 1}
    assert document["requirements"] == {
        "HA-04": "pass",
        "HA-06": "fail",
        "HA-08": "inconclusive",
        "HA-13": "fail",
        "HA-15": "not_applicable",
    }
    assert (document["version"], document["seed"], document["mode"]) == (1, 1, "virtual")
    assert document["scenarios"][0]["id"] == "own/story/cannot-tell"


def test_the_entry_of_a_scenario(project: Any) -> None:
    project.write(STORY)
    entries = project.run().scenarios
    assert entries["passes"]["virtual_s"] == 90
    assert entries["passes"]["duration_s"] < 30
    assert entries["passes"]["reason"] == ""
    assert entries["passes"]["examples"] is None
    assert entries["passes"]["falsified"] is None
    assert [check["id"] for check in entries["passes"]["checks"]] == ["HA-05", "HA-13", "HA-04"]
    assert entries["fails"]["reason"] == "one is not two"
    # A bare assertion counts against every id claimed, also one that a check found right.
    assert {check["id"]: check["verdict"] for check in entries["fails"]["checks"]} == {
        "HA-05": "pass",
        "HA-06": "fail",
        "HA-13": "fail",
    }
    assert entries["cannot-tell"]["reason"] == "no heartbeat was seen"
    assert entries["not-here"]["reason"] == "needs kill-process; virtual mode has none"
    assert entries["not-here"]["trace"] is None
    assert entries["not-here"]["trace_sha256"] is None


def test_the_trace_is_in_the_run_folder(project: Any) -> None:
    project.write(STORY)
    ran = project.run("--lasttick-select", "passes")
    kinds = [event["kind"] for event in ran.events("passes")]
    assert kinds == [
        "example",
        "part.start",
        "session.open",
        "call.start",
        "driver.start",
        "driver.end",
        "call.end",
        "part.stop",
    ]
    assert (ran.folder / "manifest.json").is_file()


def test_junit_shows_inconclusive_as_failed(project: Any) -> None:
    project.write(STORY)
    suites = ElementTree.parse(project.run().folder / "junit.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("skipped")) == ("6", "2", "1")
    failures = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}
    assert failures["cannot-tell"].get("message") == "INCONCLUSIVE: no heartbeat was seen"


def test_what_is_printed(project: Any) -> None:
    project.write(STORY)
    ran = project.run()
    assert "FAIL own/story/fails (HA-06, HA-13, lease/outlives-long-call, " in ran.out
    assert "alice" in ran.out
    assert "phone-1" in ran.out
    assert re.search(r"seed 1; replay: lasttick replay \d{8}T\d{6}Z-\w+ own/story/fails", ran.out)
    assert "INCONCLUSIVE own/story/cannot-tell (HA-08, lease/reported-is-held)" in ran.out
    assert "1 fail, 1 inconclusive, 1 not applicable, 3 pass; mode virtual, seed 1" in ran.out
    assert "run folder: reports/runs/" in ran.out
    # The scenario's own line is shown, not the machinery that played it.
    assert '>       assert 1 == 2, "one is not two"' in ran.out
    assert "lasttick/plugin.py" not in ran.out
    assert "FAILED scenarios/own/test_story.py::test_cannot_tell - INCONCLUSIVE: no" in ran.out


def test_the_lanes_of_a_failure(project: Any) -> None:
    project.write(STORY)
    lines = project.run("--lasttick-select", "fails").out.splitlines()
    lane = next(line for line in lines if line.startswith("alice"))
    assert "tap phone-1" in lane


def test_nothing_but_plain_tests_leaves_no_run_folder(project: Any) -> None:
    project.write("def test_plain():\n    assert True\n")
    ran = project.run()
    assert ran.code == 0
    assert not (project.path / "reports").exists()


def test_a_check_on_every_trace_fails_a_scenario_that_asserts_nothing(project: Any) -> None:
    """HA-05 is judged on each host-agent trace, whoever is claimed."""
    project.write("""
@scenario("HA-04")
async def test_two_at_once(world: World) -> None:
    from lasttick_fakes.devices import parse_devices
    host = await world.hostagent()
    other = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await other.client("bob")
    await world.device("phone-1").slow("tap", 10)
    both = alice.begin_tap("phone-1"), bob.begin_tap("phone-1")
    for call in both:
        await call
""")
    ran = project.run()
    entry = ran.scenarios["two-at-once"]
    assert entry["verdict"] == "fail"
    assert entry["reason"].startswith("HA-05: two holders of phone-1 for 10.000 s, from t=0.000")
    assert {check["id"]: check["verdict"] for check in entry["checks"]}["HA-05"] == "fail"
    assert ran.verdicts["requirements"]["HA-05"] == "fail"
    assert "FAIL own/story/two-at-once" in ran.out
