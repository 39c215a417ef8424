"""The lanes as a person sees them: whole pictures, kept as text. A picture that changes is looked at, then kept."""

from __future__ import annotations

from typing import Any

from lasttick.report import lanes

LONG_CALL = """
           0s              30s              60s              90s             120s
agent-a    |== tap phone-1 ==================================| ok
agent-b                                     |== tap phone-1 =================| ok
lease      |a-------------------------------|b-------------------------------
phone-1    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXXXXXXXXXXXXXXXXXbbbbbbbbbbbbbbbb
           a = agent-a, b = agent-b
"""

KILL = """
               0s       15s      30s       45s      60s      75s      90s
alice          |==| tap phone-1 ok            | session end
                                 |======| tap phone-2 ok
bob                  | tap phone-1 device_busy                              || tap phone-1 ok
                           | tap phone-1 device_busy
                                              || tap phone-1 ok
host                                                | part kill
carol                                                |== tap phone-1 ========> no answer
lease phone-1  |a-----------------------------|b----||c---------------------|b
phone-1        aaa                            b      cccccccccccccccccccccccXc
lease phone-2                    |a-----------|
phone-2                          aaaaaaa
               a = alice, b = bob, c = carol
"""


def two_holders(calls: Any) -> Any:
    return calls.call("agent-a", 0, 90).call("agent-b", 60, 120)


def test_a_call_longer_than_the_ttl_is_seen_as_two_holders(calls: Any) -> None:
    assert lanes(two_holders(calls).events, around_s=60) == LONG_CALL.strip("\n")


def test_a_story_with_refusals_an_end_and_a_kill(calls: Any) -> None:
    calls.add(0, "alice", "session.open", session="s1").call("alice", 0, 5)
    calls.call("bob", 10, 10, refused="device_busy").call("bob", 20, 20, refused="device_busy")
    calls.call("alice", 30, 40, device="phone-2").add(50, "alice", "session.end", session="s1")
    calls.call("bob", 51, 52).add(60, "host", "part.kill").add(61, "host", "part.start", ttl_s=60.0)
    calls.call("carol", 62, None).call("bob", 100, 101)
    assert lanes(calls.events) == KILL.strip("\n")


def test_a_wide_story_is_cut_around_the_moment(calls: Any) -> None:
    for start_s in range(0, 100_000, 1000):
        calls.call("alice", start_s, start_s + 5)
    text = lanes(calls.events, around_s=50_000)
    assert text.count("tap phone-1") == 1
    assert text.splitlines()[0].split()[0] == "49920s"


def test_a_call_that_hangs_for_hours_does_not_squeeze_the_moment(calls: Any) -> None:
    calls.call("alice", 0, None).call("bob", 7200, 7230).call("alice", 14_400, 14_401)
    text = lanes(calls.events, around_s=7200)
    assert "7200s" in text.splitlines()[0]
    assert text.splitlines()[1].startswith("alice      <== tap phone-1 ===")


def test_milliseconds_have_their_own_scale(calls: Any) -> None:
    calls.call("alice", 59.999, 60.001).call("bob", 60.001, 60.002)
    assert lanes(calls.events).splitlines()[0].split() == ["59.999s", "60s", "60.001s", "60.002s"]


def test_no_more_is_drawn_than_a_screen_holds(calls: Any) -> None:
    for number in range(40):
        calls.call(f"client-{number}", number, number + 0.5, device=f"phone-{number}")
    text = lanes(calls.events, width=90)
    assert "and 30 more actors" in text
    assert "and 36 more devices" in text
    assert len(text.splitlines()) < 40
    assert max(len(line) for line in text.splitlines()) <= 90


def test_many_calls_of_one_client_are_counted(calls: Any) -> None:
    for number in range(20):
        calls.call("alice", number, number + 0.1)
    assert "(+8 more)" in lanes(calls.events)


def test_only_the_last_example_is_drawn(calls: Any) -> None:
    calls.call("alice", 0, 5).add(0, "run", "example").call("bob", 0, 5)
    text = lanes(calls.events)
    assert "bob" in text
    assert "alice" not in text


def test_cloud_assignments_trouble_and_unknown_callers(calls: Any) -> None:
    calls.add(0, "cloud", "cloud.assign", "as-1", device_id="phone-1").add(
        1, "phone-1", "trouble", what="slow", seconds=3
    )
    calls.add(5, "cloud", "cloud.result", "as-1", status="failed", failure_reason="device held")
    calls.add(6, "phone-1", "driver.start", "d9", tool="tap", caller=None).add(9, "phone-1", "driver.end", "d9")
    text = lanes(calls.events)
    assert "cloud.assign phone-1" in text
    assert "device held" in text
    assert "trouble slow 3" in text
    assert "???" in text


def test_a_hostile_name_can_not_draw_on_the_terminal(calls: Any) -> None:
    calls.call("eve\x1b[2J\nfake", 0, 5, tool="tap\x07" * 30)
    text = lanes(calls.events)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "eve?[2J?fake" in text


def test_nothing_to_draw(calls: Any) -> None:
    assert lanes([]) == ""
    assert lanes(calls.events) == ""
