"""When does a wait look, what ends it, and what does it say then? Never a yes that nobody gave.

Source: contract vaultclaw 14, 21; rulings 1 to 4.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_approvals import MAIL, SEND, asks_people, begin, called, decide, executed, handed_off, says, work

OPEN = {"status": "RUNNING"}
DONE = {"status": "SUCCEEDED"}
TIMEOUTS_MS = {-1: 600_000, 0: 600_000, 1: 1_000, 999: 1_000, 1_000: 1_000, 3_600_000: 3_600_000, 3_600_001: 3_600_000}
INTERVALS_MS = {0: 1_500, 249: 250, 250: 250, 10_000: 10_000, 10_001: 10_000}
"""What the contract clamps each argument to."""
SLOW_POLLS, QUICK_POLLS = 3, 4
FAULTS: dict[str, dict[str, Any]] = {
    "broken": {"kind": "down"},
    "cut": {"kind": "half"},
    "500": {"kind": "5xx", "status": 500},
    "503": {"kind": "5xx", "status": 503},
    "429": {"kind": "answer", "status": 429, "body": {"error": {"code": "RATE_LIMITED", "message": "slow down"}}},
    "mapped 500": {"kind": "answer", "status": 500, "body": {"error": {"code": "UNAUTHENTICATED", "message": "?"}}},
}
"""What a wait outlives."""


def instants_in(log: list[dict[str, Any]], handle: dict[str, str]) -> list[float]:
    """When the polls of a wait arrived; seconds since the first one."""
    path = polled(handle)
    seen_ns = [seen["t_ns"] for seen in log if seen["path"] == path]
    return [round((t_ns - seen_ns[0]) / 1e9, 6) for t_ns in seen_ns]


async def instants(vaultd: Any, handle: dict[str, str]) -> list[float]:
    return instants_in(await vaultd.log(), handle)


def polled(handle: dict[str, str]) -> str:
    return (
        f"/v0/jobs/{handle['job_id']}" if handle["kind"] == "JOB" else f"/v0/connectors/plans/runs/{handle['run_id']}"
    )


def expected_ms(limit_ms: int, every_ms: int, slow_ms: int) -> list[int]:
    """Ruling 1: at 0, one interval after each answer, and once at the deadline. The first polls are slow."""
    polls = [0]
    while polls[-1] < limit_ms:
        latency_ms = slow_ms if len(polls) <= SLOW_POLLS else 0
        polls.append(min(polls[-1] + latency_ms + every_ms, limit_ms))
    return polls


@scenario("VC-12", needs=("scale",))
async def test_every_poll_is_at_its_instant(world: World) -> None:
    """All pairs of time-out and interval, each clamped; the last poll is at the deadline, and so is the answer. Where
    there would be thousands of polls, the first ones are answered so slowly that eight are left."""
    vaultd, client = await begin(world, timeout_ms=4_000_000)
    rows = [(timeout_ms, interval_ms) for timeout_ms in TIMEOUTS_MS for interval_ms in INTERVALS_MS]
    waits = []
    for timeout_ms, interval_ms in rows:
        limit_ms, every_ms = TIMEOUTS_MS[timeout_ms], INTERVALS_MS[interval_ms]
        handle = await work(vaultd, "JOB", OPEN)
        slow_ms = 0
        if limit_ms > (SLOW_POLLS + QUICK_POLLS) * every_ms:
            slow_ms = (limit_ms - QUICK_POLLS * every_ms) // SLOW_POLLS - every_ms
            await vaultd.trouble("slow", path=polled(handle), s=slow_ms / 1_000, count=SLOW_POLLS)
        arguments = {"handle": handle, "timeout_ms": timeout_ms, "poll_interval_ms": interval_ms}
        waits.append((limit_ms, every_ms, slow_ms, handle, world.start(_timed(world, client, arguments))))
    begun_s = world.now_s
    ends = [await wait for *_, wait in waits]
    log = await vaultd.log()
    for (limit_ms, every_ms, slow_ms, handle, _), (answer, end_s) in zip(waits, ends, strict=True):
        assert answer.code == "MCP_WAIT_TIMEOUT"
        assert answer.details["wait_options"] == {"timeout_ms": limit_ms, "poll_interval_ms": every_ms}
        assert end_s == pytest.approx(begun_s + limit_ms / 1_000, abs=1e-6)
        seen_ms = [round(t_s * 1_000, 3) for t_s in instants_in(log, handle)]
        assert seen_ms == expected_ms(limit_ms, every_ms, slow_ms), (limit_ms, every_ms)


@scenario("VC-12")
async def test_a_wait_of_a_second(world: World) -> None:
    """It looks at once, one interval after each answer, and once at the deadline, never later. The time-out repeats
    what was asked for and what was last seen, and can be tried again as it is."""
    vaultd, client = await begin(world)
    cases: list[tuple[str, int, int]] = [("JOB", 250, 5), ("PLAN_RUN", 10_000, 2)]
    for kind, interval_ms, polls in cases:
        handle = {**await work(vaultd, kind, OPEN), "challenge_id": "ach_9", "pending_id": ""}
        answer = await client.call("approval_wait", handle=handle, timeout_ms=1_000, poll_interval_ms=interval_ms)
        assert (answer.code, answer.category) == ("MCP_WAIT_TIMEOUT", "approval")
        assert answer.error["retryable"] is True
        echoed = {name: value for name, value in handle.items() if value}
        assert answer.details["handle"] == echoed
        assert answer.details["wait_options"] == {"timeout_ms": 1_000, "poll_interval_ms": interval_ms}
        latest = answer.details["latest"]
        assert latest["job"]["status"] == "RUNNING"
        assert (latest["run"] is None) == (kind == "JOB")
        assert "latest_error" not in answer.details
        seen_s = await instants(vaultd, handle)
        assert abs(seen_s[-1] - 1.0) <= world.tick_s, seen_s
        gaps_s = [later - earlier for earlier, later in pairwise(seen_s)]
        assert all(gap_s + 0.001 >= interval_ms / 1_000 for gap_s in gaps_s[:-1]), seen_s
        assert len(seen_s) == polls if world.mode == "virtual" else 2 <= len(seen_s) <= polls


@scenario("VC-12")
@given(ticks=st.integers(-3, 3).filter(bool))
@example(ticks=-1)
@example(ticks=1)
@settings(max_examples=4)
async def test_a_decision_counts_until_the_deadline(world: World, ticks: int) -> None:
    """What is decided a tick before the deadline is a yes, though it is asked for only then; a tick after it is a
    time-out."""
    vaultd, client = await begin(world)
    handle = await work(vaultd, "JOB", OPEN, {**DONE, "at_s": 1 + ticks * world.tick_s})
    answer = await client.call("approval_wait", handle=handle, timeout_ms=1_000, poll_interval_ms=10_000)
    if ticks < 0:
        assert (answer.data["done"], answer.data["decision_outcome"]) == (True, "ALLOW")
    else:
        assert answer.code == "MCP_WAIT_TIMEOUT"


@scenario("VC-12", needs=("scale",))
async def test_a_decision_at_the_deadline_counts(world: World) -> None:
    """An approval that comes at the very instant of the deadline is seen by the poll of that instant."""
    vaultd, client = await begin(world)
    handle = await work(vaultd, "PLAN_RUN", {"status": "PENDING_APPROVAL"}, {**DONE, "at_s": 600})
    answer = await client.call("approval_wait", handle=handle, poll_interval_ms=10_000)
    assert answer.data["decision_outcome"] == "ALLOW"
    assert (await instants(vaultd, handle)) == [10.0 * poll for poll in range(61)]


@scenario("VC-12", needs=("scale",))
@pytest.mark.parametrize(
    ("decision", "after_s", "ends_s", "outcome", "effects"),
    [("approve", 599.0, 599.0, "ALLOW", 1), ("deny", 599.0, 599.0, "DENY", 0), ("never", 0.0, 600.0, "", 0)],
    ids=["approved", "denied", "silent"],
)
async def test_a_person_who_takes_ten_minutes(
    world: World, decision: str, after_s: float, ends_s: float, outcome: str, effects: int
) -> None:
    """One second before a default wait ends a person says yes, no or nothing; the daemon is started anew in between.
    Only a yes lets the mail go, once; silence is a time-out."""
    vaultd, client = await begin(world)
    await asks_people(vaultd, SEND, approval_ttl_s=900)
    await vaultd.control("PUT", "/control/persons", {"persons": [{"decision": decision, "after_s": after_s}]})
    approval = handed_off(await client.call("connector_execute_job", request=MAIL))
    begun_s = world.now_s
    wait = world.start(_timed(world, client, approval["next_action"]["arguments"]))
    await world.until(begun_s + 299.5)
    await vaultd.down()
    await world.until(begun_s + 310)
    await vaultd.up()
    answer, end_s = await wait
    assert end_s - begun_s == pytest.approx(ends_s, abs=1.5)
    if outcome:
        assert answer.data["decision_outcome"] == outcome
    else:
        assert answer.code == "MCP_WAIT_TIMEOUT"
        assert answer.details["latest"]["job"]["status"] == "PENDING"
    assert len(await vaultd.effects()) == effects
    assert await executed(vaultd) == 1


ENDS = [
    ("SUCCEEDED", "", "ALLOW"),
    ("succeeded", "PLAN_APPROVAL_DENIED", "ALLOW"),
    ("DENIED", "PLAN_APPROVAL_DENIED", "DENY"),
    ("denied", "connector_approval_rule_denied", "DENY"),
    ("DENIED", "APPROVAL_DECISION_EXPIRED", "DENY"),
    ("DENIED", "PLAN_POLICY_DRIFT", "UNKNOWN"),
    ("DENIED", "", "UNKNOWN"),
    ("FAILED", "PLAN_APPROVAL_DENIED", "UNKNOWN"),
    ("CANCELLED", "", "UNKNOWN"),
    ("cancelled", "PLAN_APPROVAL_DENIED", "UNKNOWN"),
    ("EXPIRED", "", "UNKNOWN"),
    ("EXPIRED", "APPROVAL_DECISION_EXPIRED", "UNKNOWN"),
]
"""State, code, outcome (contract 14, ruling 3)."""


@scenario("VC-12")
async def test_what_an_end_means(world: World) -> None:
    """Each terminal state ends a wait at its first look. Only SUCCEEDED is a yes, and a no needs a code that says so;
    reading the job or run by itself says the same."""
    vaultd, client = await begin(world)
    for kind in ("JOB", "PLAN_RUN"):
        for state, code, outcome in ENDS:
            handle = await work(vaultd, kind, {"status": state, **({"error": {"code": code}} if code else {})})
            data = (await client.call("approval_wait", handle=handle, timeout_ms=1_000)).data
            assert (data["done"], data["terminal_status"]) == (True, state.upper())
            assert data["decision_outcome"] == outcome, (kind, state, code)
            assert (data["handle"], data["run"] is None) == (handle, kind == "JOB")
            assert len(await instants(vaultd, handle)) == 1
            if kind == "JOB":
                told = (await client.call("job_get", job_id=handle["job_id"])).data
                assert told["approval_state"]["pending_approval"] is None
            else:
                told = (await client.call("plan_run_get", run_id=handle["run_id"])).data
            assert (told["decision_outcome"], told["approval_state"]["status"]) == (outcome, "TERMINAL")


@scenario("VC-12")
async def test_three_looks_at_a_run(world: World) -> None:
    """The worked example: a run that is pending, ready, then denied is polled three times, and denied."""
    vaultd, client = await begin(world)
    denied = {"state": "DENIED", "last_error_code": "PLAN_APPROVAL_DENIED"}
    path = "/v0/connectors/plans/runs/run_7"
    states = ({"state": "PENDING_APPROVAL"}, {"state": "READY"}, denied)
    await says(vaultd, path, *({"run": {"run_id": "run_7", **state}} for state in states))
    handle = {"kind": "plan_run", "run_id": " run_7 "}
    data = (await client.call("approval_wait", handle=handle, timeout_ms=60_000, poll_interval_ms=1)).data
    assert (data["terminal_status"], data["decision_outcome"]) == ("DENIED", "DENY")
    assert data["handle"] == {"kind": "PLAN_RUN", "run_id": "run_7"}
    assert await called(vaultd) == [f"GET {path}"] * 3


@scenario("VC-12")
async def test_a_wait_outlives_the_faults_of_its_vault(world: World) -> None:
    """Broken connections, cut answers, 429 and all from 500 on are looked past: the yes after them counts."""
    vaultd, client = await begin(world)
    waits = []
    for fault in FAULTS.values():
        handle = await work(vaultd, "JOB", DONE)
        await vaultd.trouble(path=polled(handle), count=2, **fault)
        arguments = {"handle": handle, "timeout_ms": 60_000, "poll_interval_ms": 250}
        waits.append((handle, world.start(client.call("approval_wait", arguments))))
    for name, (handle, wait) in zip(FAULTS, waits, strict=True):
        answer = await wait
        assert answer.data["decision_outcome"] == "ALLOW", name
        assert len(await instants(vaultd, handle)) == 3, name


@scenario("VC-12")
async def test_a_wait_ends_with_what_waiting_cannot_cure(world: World) -> None:
    """A refusal, and an answer in which nothing is that was asked for, end the wait at once; neither is a yes."""
    vaultd, client = await begin(world)
    code = {"error": {"code": "FORBIDDEN", "message": "no"}}
    gone = {"error": {"code": "PLAN_RUN_NOT_FOUND", "message": "gone"}}
    cases: list[tuple[int, Any, str, str]] = [
        (403, code, "MCP_AUTH_FORBIDDEN", "FORBIDDEN"),
        (404, gone, "MCP_PLAN_RUN_NOT_FOUND", "PLAN_RUN_NOT_FOUND"),
        (401, {}, "MCP_INTERNAL", "HTTP_ERROR"),
        (409, {"job": DONE, "run": {"state": "SUCCEEDED"}}, "MCP_INTERNAL", "HTTP_ERROR"),
        (200, {"ok": True, "status": "SUCCEEDED"}, "MCP_INTERNAL", ""),
        (200, {"job": "SUCCEEDED", "run": ["SUCCEEDED"]}, "MCP_INTERNAL", ""),
        (200, {"job": None, "run": None}, "MCP_INTERNAL", ""),
    ]
    for kind in ("JOB", "PLAN_RUN"):
        for status, body, mcp_code, vault_code in cases:
            handle = await work(vaultd, kind, OPEN)
            await says(vaultd, polled(handle), body, status=status)
            answer = await client.call("approval_wait", handle=handle, timeout_ms=1_000)
            assert (answer.code, answer.error["vault_code"]) == (mcp_code, vault_code), (kind, status, body)
            assert answer.details["vault_http_status"] == status
            assert len(await instants(vaultd, handle)) == 1


@scenario("VC-12")
async def test_the_newest_fault_is_told_at_the_deadline(world: World) -> None:
    """A time-out shows the last good answer, and the fault of the newest look only if that one failed."""
    vaultd, client = await begin(world)
    faulty, cured, never = [await work(vaultd, "JOB", OPEN) for _ in range(3)]
    await vaultd.trouble(
        "answer", path=polled(faulty), skip=1, **{k: v for k, v in FAULTS["429"].items() if k != "kind"}
    )
    await vaultd.trouble("5xx", path=polled(cured), status=502, count=1)
    await vaultd.trouble("5xx", path=polled(never), status=502)
    waits = [
        world.start(client.call("approval_wait", handle=handle, timeout_ms=1_000, poll_interval_ms=400))
        for handle in (faulty, cured, never)
    ]
    told = [(await wait).details for wait in waits]
    assert told[0]["latest"]["job"]["status"] == "RUNNING"
    assert told[0]["latest_error"] == {
        "code": "MCP_INTERNAL",
        "category": "internal",
        "vault_code": "RATE_LIMITED",
        "vault_http_status": 429,
        "message": "slow down",
    }
    assert told[1]["latest"]["job"]["status"] == "RUNNING"
    assert "latest_error" not in told[1]
    assert told[2]["latest"] == {"job": None, "run": None}
    newest = told[2]["latest_error"]
    assert (newest["code"], newest["vault_code"]) == ("MCP_NETWORK_ERROR", "HTTP_ERROR")
    assert newest["vault_http_status"] == 502


@scenario("VC-12")
async def test_a_hanging_vault_holds_nobody(world: World) -> None:
    """A vault that takes a call and never answers ends no wait with a yes, and none later than a second after it."""
    vaultd, client = await begin(world, timeout_ms=120_000)
    at_once, later = await work(vaultd, "JOB", DONE), await work(vaultd, "JOB", OPEN)
    await vaultd.trouble("hang", path=polled(at_once))
    await vaultd.trouble("hang", path=polled(later), skip=1)
    begun_s = world.now_s
    waits = [
        world.start(_timed(world, client, {"handle": handle, "timeout_ms": 1_000, "poll_interval_ms": 600}))
        for handle in (at_once, later)
    ]
    (silent, silent_s), (seen, seen_s) = [await wait for wait in waits]
    late_s = world.tick_s
    for answer, end_s in ((silent, silent_s), (seen, seen_s)):
        assert answer.code == "MCP_WAIT_TIMEOUT"
        assert answer.details["latest_error"]["vault_code"] == "NETWORK_ERROR"
        assert begun_s + 1 <= end_s <= begun_s + 2 + 2 * late_s
    assert silent.details["latest"]["job"] is None
    assert seen.details["latest"]["job"]["status"] == "RUNNING"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "SUCCEEDED", "ALLOW", "APPROVED", "DONE"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["status", "state", "ok"]), inner),
    max_leaves=4,
)
SUCCEEDED = ("SUCCEEDED",)


@scenario("VC-12")
@given(said=st.dictionaries(st.sampled_from(["job", "run", "ok", "decision_outcome", "done", "status"]), values))
@example(said={"job": {"status": "APPROVED"}, "run": {"state": "ALLOW"}})
@example(said={"job": {"status": "DONE", "decision_outcome": "ALLOW"}, "decision_outcome": "ALLOW", "done": True})
@example(said={"job": {"status": True}, "run": {"state": ["SUCCEEDED"]}, "ok": True})
@settings(max_examples=9)
async def test_no_strange_answer_is_a_yes(world: World, said: dict[str, Any]) -> None:
    """Whatever a vault answers: a wait is only a yes, and a job or run only allowed, where the state is SUCCEEDED. A
    state that nobody knows decides nothing and ends nothing."""
    vaultd, client = await begin(world)
    waits = []
    for kind, member, name in (("JOB", "job", "status"), ("PLAN_RUN", "run", "state")):
        handle = await work(vaultd, kind, DONE)
        await says(vaultd, polled(handle), said, times=None)
        waits.append((said.get(member), name, handle, world.start(_wait_a_second(client, handle))))
    for told, name, handle, wait in waits:
        answer = await wait
        state = told.get(name) if isinstance(told, dict) else None
        if state == "SUCCEEDED":
            assert answer.data["decision_outcome"] == "ALLOW"
            continue
        assert not answer.ok
        assert answer.code == ("MCP_WAIT_TIMEOUT" if isinstance(told, dict) else "MCP_INTERNAL"), said
        if handle["kind"] == "JOB":
            read = await client.call("job_get", job_id=handle["job_id"])
        else:
            read = await client.call("plan_run_get", run_id=handle["run_id"])
        if isinstance(told, dict):
            assert read.data["decision_outcome"] == "UNKNOWN"
            assert read.data["approval_state"]["status"] == "UNKNOWN"
        elif read.ok:
            assert "approval_state" not in read.data


@scenario("VC-12")
async def test_a_wait_needs_a_handle_it_can_use(world: World) -> None:
    """Without a handle, and with one that lacks the id of its kind, nothing is asked of the vault. The handle itself
    is asked for before the session, what is in it after."""
    vaultd = await world.vaultd()
    client = (await world.vaultclaw()).client("acme")
    bad: list[Any] = [{}, {"kind": "JOB"}, {"kind": "JOB", "run_id": "r"}, {"kind": "PLAN_RUN", "job_id": "j"}]
    bad += [{"kind": "RUN", "run_id": "r"}, {"kind": "JOB", "job_id": 7}, {"kind": ["JOB"], "job_id": "j"}]
    for missing in (None, "job_1", ["JOB"]):
        assert (await client.call("approval_wait", handle=missing)).code == "MCP_VALIDATION_ERROR"
    for handle in bad:
        assert (await client.call("approval_wait", handle=handle)).code == "MCP_SESSION_NOT_CONFIGURED"
    await client.configure()
    for handle in bad:
        answer = await client.call("approval_wait", handle=handle)
        assert (answer.code, answer.error["retryable"]) == ("MCP_VALIDATION_ERROR", False), handle
    for dots in (".", ".."):
        answer = await client.call("approval_wait", handle={"kind": "JOB", "job_id": dots})
        assert answer.code == "MCP_VALIDATION_ERROR"
    assert await vaultd.calls() == []


@scenario("VC-12", "VC-11")
async def test_a_persons_word_reaches_the_wait(world: World) -> None:
    """A mail waits for a person. The daemon is started anew in the middle of the wait; then the person says yes or no:
    the wait tells which, and the mail has gone once or not at all."""
    vaultd, client = await begin(world)
    await asks_people(vaultd, SEND)
    for decision, status, outcome, effects in (("deny", "DENIED", "DENY", 0), ("approve", "SUCCEEDED", "ALLOW", 1)):
        approval = handed_off(await client.call("connector_execute_job", request=MAIL))
        arguments = {**approval["next_action"]["arguments"], "timeout_ms": 60_000, "poll_interval_ms": 250}
        wait = world.start(client.call("approval_wait", arguments))
        await world.advance(world.tick_s)
        await vaultd.restart()
        await world.advance(world.tick_s)
        await decide(world, vaultd, approval, decision)
        data = (await wait).data
        assert (data["terminal_status"], data["decision_outcome"]) == (status, outcome)
        assert len(await vaultd.effects()) == effects
    assert await executed(vaultd) == 2


async def _timed(world: World, client: Any, arguments: dict[str, Any]) -> tuple[Any, float]:
    """The answer of a wait, and when it was there."""
    answer = await client.call("approval_wait", arguments)
    return answer, world.now_s


async def _wait_a_second(client: Any, handle: dict[str, str]) -> Any:
    return await client.call("approval_wait", handle=handle, timeout_ms=1_000, poll_interval_ms=10_000)
