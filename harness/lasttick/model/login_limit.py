"""May somebody try a password now? The rule that makes guessing slow, as pure functions over integer nanoseconds.

A few wrong passwords are a person's slips and cost nothing. From then on each one shuts the door for twice as long as
the one before, up to a minute. While it is shut nothing is compared: the right password is refused exactly as a wrong
one, or the answer would tell which it was. A try at a shut door neither counts nor keeps it shut for longer: whoever
is first when it opens gets in. A quarter of an hour of quiet forgets all.

There is one door for all, so a program on this machine that tries without a pause can be first every time. It learns
nothing, and whoever is logged in stays so; whoever is not has to end that program.
"""

from __future__ import annotations

from dataclasses import dataclass

NS = 1_000_000_000
FREE_TRIES = 5
"""From this wrong password on the door is shut."""
FIRST_LOCK_NS = 1 * NS
LOCK_NS_MAX = 60 * NS
FORGET_NS = 900 * NS


@dataclass(frozen=True, slots=True)
class Tries:
    """What is remembered: wrong passwords in a row, when the last was, and the first instant at which the door is open.

    One for all who try, so that it cannot grow with their number.
    """

    failed: int = 0
    last_ns: int = 0
    opens_ns: int = 0


def shut_for_ns(tries: Tries, now_ns: int) -> int:
    """How long from now on no password is looked at; 0 when the door is open."""
    return max(0, tries.opens_ns - now_ns)


def lock_ns(failed: int) -> int:
    """How long the door is shut after so many wrong passwords in a row."""
    over = failed - FREE_TRIES
    return 0 if over < 0 else min(FIRST_LOCK_NS << min(over, 32), LOCK_NS_MAX)


def after_failure(tries: Tries, now_ns: int) -> Tries:
    """A wrong password was given at an open door."""
    before = 0 if now_ns - tries.last_ns >= FORGET_NS else tries.failed
    return Tries(before + 1, now_ns, now_ns + lock_ns(before + 1))


def after_knock(tries: Tries, now_ns: int) -> Tries:
    """Somebody tried at a shut door: as if nobody had."""
    return tries


def retry_after_s(shut_ns: int) -> int:
    """Whole seconds for a Retry-After header; never so few that who keeps to it finds the door shut."""
    return -(-shut_ns // NS)
