"""Wrong versions of the wait for a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model.vaultclaw import outcome, wait
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.wait import Observation
from lasttick.mutants import Mutant

WAIT = "vaultclaw/wait/"
TICK_NS = wait.NS_PER_MS


def a_whole_interval(asked_ns: int, answered_ns: int, interval_ns: int, deadline_ns: int) -> int | None:
    """The public program's schedule: it looks at the clock before it sleeps, and sleeps past the deadline."""
    return None if answered_ns >= deadline_ns else answered_ns + interval_ns


def none_at_the_deadline(asked_ns: int, answered_ns: int, interval_ns: int, deadline_ns: int) -> int | None:
    return answered_ns + interval_ns if answered_ns + interval_ns < deadline_ns else None


def a_tick_before(right: Any) -> Callable[..., Any]:
    def next_poll_ns(asked_ns: int, answered_ns: int, interval_ns: int, deadline_ns: int) -> int | None:
        due_ns: int | None = right(asked_ns, answered_ns, interval_ns, deadline_ns - TICK_NS)
        return due_ns

    return next_poll_ns


def gives_up(failure: ToolFailure) -> bool:
    return False


def looks_past_everything(failure: ToolFailure) -> bool:
    return True


def no_limit_s(now_ns: int, deadline_ns: int) -> float:
    """The session's time-out is the only one."""
    return 1e9


def anything_else_is_yes(right: Any) -> Callable[..., Any]:
    def ended(state: str, code: str) -> Any:
        return right(state, code) if state in outcome.TERMINAL else "ALLOW"

    return ended


def not_denied_is_yes(right: Any) -> Callable[..., Any]:
    def ended(state: str, code: str) -> Any:
        return "DENY" if right(state, code) == "DENY" else "ALLOW"

    return ended


def what_is_not_open_has_ended(seen: Observation) -> bool:
    return seen.state not in ("PENDING", "PENDING_APPROVAL", *outcome.OPEN)


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/wait-overshoots-deadline",
        breaks="VC-12",
        ruling=1,
        text="a wait sleeps a whole interval past its deadline before it looks a last time",
        killed_by=WAIT + "a-wait-of-a-second",
        patch=lambda seam: seam.replace(wait, "next_poll_ns", a_whole_interval),
    ),
    Mutant(
        "vaultclaw/no-look-at-the-deadline",
        breaks="VC-12",
        ruling=1,
        text="a wait gives up without a look at its deadline",
        killed_by=WAIT + "a-decision-counts-until-the-deadline",
        patch=lambda seam: seam.replace(wait, "next_poll_ns", none_at_the_deadline),
    ),
    Mutant(
        "vaultclaw/last-look-a-tick-early",
        breaks="VC-12",
        ruling=1,
        text="the last look comes one tick before the deadline, so that a yes at the deadline is not seen",
        killed_by=WAIT + "a-decision-at-the-deadline-counts",
        patch=lambda seam: seam.wrap(wait, "next_poll_ns", a_tick_before),
    ),
    Mutant(
        "vaultclaw/hung-poll-holds-the-wait",
        breaks="VC-12",
        ruling=1,
        text="a poll that is never answered holds the wait until the session's own time-out",
        killed_by=WAIT + "a-hanging-vault-holds-nobody",
        patch=lambda seam: seam.replace(wait, "poll_limit_s", no_limit_s),
    ),
    Mutant(
        "vaultclaw/interval-not-clamped",
        breaks="VC-12",
        text="an interval below 250 ms is taken as it is given",
        killed_by=WAIT + "every-poll-is-at-its-instant",
        patch=lambda seam: seam.replace(wait, "INTERVAL_MS_MIN", 1),
    ),
    Mutant(
        "vaultclaw/wait-dies-on-first-error",
        breaks="VC-12",
        ruling=2,
        text="one broken connection, or one 503, ends a wait",
        killed_by=WAIT + "a-wait-outlives-the-faults-of-its-vault",
        patch=lambda seam: seam.replace(wait, "goes_on", gives_up),
    ),
    Mutant(
        "vaultclaw/wait-outlives-everything",
        breaks="VC-12",
        ruling=2,
        text="a wait goes on after a refusal, and after an answer in which nothing is",
        killed_by=WAIT + "a-wait-ends-with-what-waiting-cannot-cure",
        patch=lambda seam: seam.replace(wait, "goes_on", looks_past_everything),
    ),
    Mutant(
        "vaultclaw/cancelled-keeps-polling",
        breaks="VC-12",
        ruling=3,
        text="work that was cancelled or has expired is polled until the time is up",
        killed_by=WAIT + "what-an-end-means",
        patch=lambda seam: seam.replace(outcome, "TERMINAL", ("SUCCEEDED", "FAILED", "DENIED")),
    ),
    Mutant(
        "vaultclaw/unknown-state-is-allow",
        breaks="VC-12",
        ruling=4,
        text="a state that nobody knows is a yes",
        killed_by=WAIT + "no-strange-answer-is-a-yes",
        patch=lambda seam: seam.wrap(outcome, "_ended", anything_else_is_yes),
    ),
    Mutant(
        "vaultclaw/unknown-state-ends-the-wait",
        breaks="VC-12",
        ruling=3,
        text="a state that nobody knows ends a wait as done",
        killed_by=WAIT + "no-strange-answer-is-a-yes",
        patch=lambda seam: seam.replace(Observation, "ends", property(what_is_not_open_has_ended)),
    ),
    Mutant(
        "vaultclaw/not-denied-is-allow",
        breaks="VC-12",
        ruling=4,
        text="work that failed, or was denied by something else than a person, counts as allowed",
        killed_by=WAIT + "what-an-end-means",
        patch=lambda seam: seam.wrap(outcome, "_ended", not_denied_is_yes),
    ),
]
