"""Who belongs to another tenant, what of hers can he name, and is he answered as if it were not there? Verbs only."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from lasttick import Target, control
from lasttick.laws.binding import names_wanted
from lasttick.laws.caller import Caller
from lasttick.laws.judges.alike import absent_names, differences
from lasttick.laws.judges.tools import same_credentials
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Said
from lasttick.laws.verdict import LawFailed

ORDERS = (1, 2, 0)
"""When it is asked for, of three times: servers that take turns must not be taken for the difference."""
SESSION_ID = "session id"
"""Stands among the names of a call for the id of an MCP session, which is in no binding."""
Names: TypeAlias = Mapping[str, Any]
Say: TypeAlias = Callable[[Names], Awaitable[Said]]
"""Say a verb with these names in place of one's own."""


def pairs_of(profile: Profile) -> list[tuple[str, str]]:
    """Every two callers of different tenants, both ways; who decides, or has no tenant, is in none."""
    tenants = {name: spec.tenant for name, spec in profile.callers.items() if spec.tenant and not spec.decides}
    return [(one, other) for one, other in itertools.permutations(tenants, 2) if tenants[one] != tenants[other]]


def theirs(owner: Caller, other: Caller, verb: str, about: Names | None = None) -> dict[str, Any]:
    """What the owner's call of a verb names and the other's does not: of her session, of the vars that both have of
    their own, and of what she was told (`about`). No secret of the profile, and nothing of a session that is all that
    tells the two apart.
    """
    target = other.target
    binding = target.deployment.profile.reach(verb, other.spec.route)
    if binding is None:
        return {}
    known: dict[str, Any] = {}
    if not same_credentials(owner.spec, other.spec):
        known |= {name: value for name, value in owner.spec.vars.items() if name in other.spec.vars}
        known |= owner.names
    known |= about or {}
    wanted = names_wanted(binding)
    secrets = target.deployment.secrets.values()
    found = {
        name: value
        for name, value in known.items()
        if name in wanted and not any(secret and secret in str(value) for secret in secrets)
    }
    session_id = owner.wire.session_id
    if binding.tool is not None and session_id is not None and not same_credentials(owner.spec, other.spec):
        found[SESSION_ID] = session_id
    return found


def own_of(caller: Caller, told: Names | None = None) -> dict[str, Any]:
    """Every name that has a value for this caller, and its session's id. `told`: of a lease of its own."""
    shared = caller.target.deployment.profile.vars
    return {**shared, **caller.spec.vars, **caller.names, SESSION_ID: caller.wire.session_id, **(told or {})}


class Impostor:
    """`other` in sessions of `owner`'s, or of nobody's. `names`: what of hers will be named."""

    def __init__(self, owner: Caller, other: Caller, names: Names) -> None:
        self._owner, self._other = owner, other
        self._twins: dict[str, Caller] = {}
        if any(name == SESSION_ID or name in owner.names for name in names):
            other.knows(owner)

    def speaking(self, names: Names) -> Caller:
        """Who says a call with these names: in a session of his own, or in the one that they name."""
        session_id = names.get(SESSION_ID)
        if session_id is None:
            return self._other
        if session_id not in self._twins:
            twin = self._twins[session_id] = self._other.twin()
            twin.borrow(self._owner, session_id)
            twin.names = dict(self._other.names)
        return self._twins[session_id]


def choices(theirs: Names, own: Names) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to name of theirs, in words and as names: all that differs, and then each by itself, the rest being own."""
    differing = {name: value for name, value in theirs.items() if value != own.get(name)}
    if differing:
        yield f"the {' and the '.join(differing)}", differing
    if len(differing) > 1 and all(name in own for name in differing):
        for name, value in differing.items():
            yield f"the {name}", {name: value}


async def must_be_as_absent(target: Target, what: str, say: Say, taken: Names, known: Sequence[Any]) -> bool:
    """Asks for what is another's beside what is not there, in every order. Whether it could be compared.

    A difference counts when it is there every time. `known`: values that somebody has. Raises LawFailed, NotShown.
    """
    nobodys = absent_names(taken, known)
    if nobodys is None:
        return False
    steady: list[str] | None = None
    for order in ORDERS:
        asked = [taken if number == order else nobodys for number in range(len(ORDERS))]
        saids = [await say(names) for names in asked]
        lost = [said for said in saids if said.outcome == "lost"]
        control(not lost, f"{what}: no answer to compare", *lost, timing=True)
        sent = [list(names.values()) for names in asked]
        said, named = saids.pop(order), sent.pop(order)
        alike = saids[0].outcome == saids[1].outcome and saids[0].reply.status == saids[1].reply.status
        control(alike, f"{what}: what is not there is answered in two ways", *saids)
        found = differences(said, (saids[0], saids[1]), [named, *sent], target.deployment.profile.tools.volatile)
        if not found:
            return True
        steady = found if steady is None else [place for place in steady if place in found]
        control(bool(steady), f"{what}: the answers differ, each time elsewhere ({found[0]})", said, *saids)
    assert steady
    places = ", ".join(steady[:5])
    reason = f"{what} is not answered like one with what is not there (tools.foreign = hidden): {places}"
    raise LawFailed(reason, (said, *saids))
