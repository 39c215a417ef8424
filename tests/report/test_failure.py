"""The whole message of a scenario that did not pass, kept as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lasttick.checks import exclusive
from lasttick.evidence import Examples, Falsified, ScenarioResult
from lasttick.report import failure_text, replay_command, run_command

MESSAGE = """
FAIL hostagent/lease/long-call[tap] (HA-05, HA-06) at t=60.000
  HA-05 fail: two holders of phone-1 for 30.000 s, from t=60.000: tap of agent-b began
    during tap of agent-a; expected one holder at every instant (HA-05)

           0s            30s          60s          90s           120s
agent-a    |== tap phone-1 ========================| ok
agent-b                               |== tap phone-1 ===========| ok
lease      |a-------------------------|b-------------------------
phone-1    aaaaaaaaaaaaaaaaaaaaaaaaaaaXXXXXXXXXXXXXbbbbbbbbbbbbbb
           a = agent-a, b = agent-b

  seed 7; replay: lasttick replay 20260102T120000Z-ab 'hostagent/lease/long-call[tap]'
"""


ID = "hostagent/lease/long-call[tap]"


def result_of(events: Any) -> ScenarioResult:
    check = exclusive(events)
    return ScenarioResult(
        id=ID,
        requirements=("HA-05", "HA-06"),
        laws=(),
        verdict=check.verdict,
        reason=check.reason,
        duration_s=0.1,
        virtual_s=120.0,
        checks=(check,),
    )


def test_a_failed_check(calls: Any) -> None:
    events = calls.call("agent-a", 0, 90).call("agent-b", 60, 120).events
    text = failure_text(
        result_of(events), events, seed=7, replay=replay_command(ID, run="20260102T120000Z-ab"), width=88
    )
    assert text == MESSAGE.strip("\n")


def test_a_bare_assertion_is_shown_at_the_end_of_the_story(calls: Any) -> None:
    events = calls.call("alice", 0, 5).events
    result = replace(result_of(events), verdict="fail", reason="assert answer.ok\nwhere ok = False")
    lines = failure_text(result, events, seed=1, replay="x").splitlines()
    assert lines[0].endswith("at t=5.000")
    assert lines[1:3] == ["  assert answer.ok", "  where ok = False"]


def test_the_shrunk_example_is_told_with_its_replay(calls: Any) -> None:
    result = replace(
        result_of(calls.events),
        verdict="inconclusive",
        reason="no hand-over was seen",
        examples=Examples(25, 1),
        falsified=Falsified({"ticks": "-1"}, "lasttick replay latest x"),
    )
    text = failure_text(result, [], seed=1, replay="lasttick replay latest x")
    assert text.splitlines() == [
        "INCONCLUSIVE hostagent/lease/long-call[tap] (HA-05, HA-06)",
        "  no hand-over was seen",
        "  falsified by: ticks=-1",
        "  seed 1; replay: lasttick replay latest x",
    ]


def test_a_long_example_is_wrapped(calls: Any) -> None:
    falsified = Falsified({"plan": "[" + "Step(who=0, phone=1), " * 20 + "]"}, "lasttick replay latest x")
    text = failure_text(replace(result_of(calls.events), falsified=falsified), [], seed=1, replay="x", width=80)
    assert max(len(line) for line in text.splitlines()) <= 80


def test_commands_are_quoted_for_a_shell() -> None:
    assert replay_command("a/b/c[1 2]", run="my runs/x") == "lasttick replay 'my runs/x' 'a/b/c[1 2]'"
    assert run_command("a/b/c", seed=7, mode="virtual") == "lasttick run a/b/c --seed 7"
    assert run_command("a/b/c", seed=7, mode="process") == "lasttick run a/b/c --seed 7 --mode process"
