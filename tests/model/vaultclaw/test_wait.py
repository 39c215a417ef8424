"""When a wait polls, and what ends it. Source: contract vaultclaw 14; rulings VC-1 to VC-3; VC-12."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.wait import Limits, limits, next_poll_ns, observe, poll_limit_s, read_handle

MS = 1_000_000


@pytest.mark.parametrize(
    ("timeout_ms", "clamped"),
    [
        (-1, 600_000),
        (0, 600_000),
        (1, 1_000),
        (999, 1_000),
        (1_000, 1_000),
        (3_600_000, 3_600_000),
        (3_600_001, 3_600_000),
    ],
)
@pytest.mark.parametrize(
    ("interval_ms", "interval"),
    [(-1, 1_500), (0, 1_500), (1, 250), (249, 250), (250, 250), (10_000, 10_000), (10_001, 10_000)],
)
def test_the_clamps(timeout_ms: int, clamped: int, interval_ms: int, interval: int) -> None:
    assert limits(timeout_ms, interval_ms) == Limits(clamped, interval)


def instants(timeout_ms: int, interval_ms: int, latency_ms: int) -> list[int]:
    """The polls of a wait that never ends by itself, each answered after `latency_ms`; milliseconds."""
    polls, due = [], 0
    next_ns: int | None = 0
    while next_ns is not None:
        due = next_ns // MS
        polls.append(due)
        next_ns = next_poll_ns(next_ns, next_ns + latency_ms * MS, interval_ms * MS, timeout_ms * MS)
    return polls


@pytest.mark.parametrize(
    ("timeout_ms", "interval_ms", "latency_ms", "expected"),
    [
        (1000, 250, 0, [0, 250, 500, 750, 1000]),
        (1000, 10_000, 0, [0, 1000]),
        (1000, 300, 0, [0, 300, 600, 900, 1000]),
        (1000, 300, 100, [0, 400, 800, 1000]),
        (1000, 300, 200, [0, 500, 1000]),
        (1000, 300, 150, [0, 450, 900]),  # the one from 900 is under way at 1000: it was the last
        (1000, 300, 1000, [0, 1000]),  # answered at the deadline: one more
        (1000, 300, 1001, [0]),
    ],
)
def test_the_schedule(timeout_ms: int, interval_ms: int, latency_ms: int, expected: list[int]) -> None:
    assert instants(timeout_ms, interval_ms, latency_ms) == expected


@given(st.integers(1_000, 60_000), st.integers(250, 10_000), st.integers(0, 3_000))
def test_the_schedule_is_one_interval_after_each_answer_and_ends_at_the_deadline(
    timeout_ms: int, interval_ms: int, latency_ms: int
) -> None:
    polls = instants(timeout_ms, interval_ms, latency_ms)
    assert polls[0] == 0
    assert polls[-1] <= timeout_ms <= polls[-1] + max(latency_ms, 0)
    assert all(later - poll == interval_ms + latency_ms for poll, later in itertools.pairwise(polls[:-1]))
    if latency_ms == 0:
        assert len(polls) == math.ceil(timeout_ms / interval_ms) + 1
        assert polls[-1] == timeout_ms


@pytest.mark.parametrize(
    ("now_ms", "expected_s"), [(0, 600.0), (598_000, 2.0), (599_000, 1.0), (599_999, 1.0), (600_000, 1.0)]
)
def test_the_limit_of_one_poll(now_ms: int, expected_s: float) -> None:
    assert poll_limit_s(now_ms * MS, 600_000 * MS) == expected_s


@pytest.mark.parametrize(
    ("given_handle", "echoed"),
    [
        ({"kind": " job ", "job_id": " j ", "run_id": "", "pending_id": 5}, {"kind": "JOB", "job_id": "j"}),
        (
            {"kind": "Plan_Run", "run_id": "r", "job_id": "j", "challenge_id": "c", "pending_id": "p", "x": 1},
            {"kind": "PLAN_RUN", "job_id": "j", "run_id": "r", "challenge_id": "c", "pending_id": "p"},
        ),
    ],
)
def test_a_handle_is_read_and_echoed_without_what_is_empty(
    given_handle: dict[str, Any], echoed: dict[str, str]
) -> None:
    assert read_handle(given_handle).as_json() == echoed


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"kind": "JOB"},
        {"kind": "JOB", "run_id": "r"},
        {"kind": "PLAN_RUN", "job_id": "j"},
        {"kind": "X", "job_id": "j"},
        {"job_id": "j"},
    ],
)
def test_a_handle_without_the_id_its_kind_needs_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ToolFailure) as raised:
        read_handle(bad)
    assert raised.value.code == "MCP_VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("state", "ends"),
    [
        *((state, True) for state in ("SUCCEEDED", "failed", "DENIED", "CANCELLED", "EXPIRED")),
        *((state, False) for state in ("PENDING", "PENDING_APPROVAL", "READY", "RUNNING", "APPROVED", "", 7, None)),
    ],
)
def test_terminal_states_end_a_wait_and_unknown_ones_do_not(state: Any, ends: bool) -> None:
    job = observe("JOB", {"job": {"status": state}, "run": {"state": "SUCCEEDED"}})
    run = observe("PLAN_RUN", {"run": {"state": state}, "job": {"status": "SUCCEEDED"}})
    assert job is not None
    assert run is not None
    assert (job.ends, run.ends) == (ends, ends)
    assert job.run is None
    assert run.job == {"status": "SUCCEEDED"}


@pytest.mark.parametrize("body", [None, {}, {"job": None}, {"job": "x"}, {"job": [1]}])
def test_an_answer_without_the_object_is_no_observation(body: Any) -> None:
    assert observe("JOB", body) is None
    assert observe("PLAN_RUN", {"job": {"status": "SUCCEEDED"}, "run": "x"}) is None
