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

TRIES = 3
"""How often what is another's has to be answered otherwise than what is not there."""
Names: TypeAlias = Mapping[str, Any]
Say: TypeAlias = Callable[[Names], Awaitable[Said]]
"""Say a verb with these names in place of one's own."""


def pairs_of(profile: Profile) -> list[tuple[str, str]]:
    """Every two callers of different tenants, both ways; who decides, or has no tenant, is in none."""
    tenants = {name: spec.tenant for name, spec in profile.callers.items() if spec.tenant and not spec.decides}
    return [(one, other) for one, other in itertools.permutations(tenants, 2) if tenants[one] != tenants[other]]


def theirs(owner: Caller, other: Caller, verb: str, about: Names | None = None) -> dict[str, Any]:
    """What the owner's call of a verb names and the other's does not: of her session, of the vars that both have of
    their own, and of what she was told (`about`). No secret, and nothing of a session that is all that tells the two
    apart.
    """
    target = other.target
    binding = target.deployment.profile.reach(verb, other.spec.route)
    known: dict[str, Any] = {}
    if not same_credentials(owner.spec, other.spec):
        known |= {name: value for name, value in owner.spec.vars.items() if name in other.spec.vars}
        known |= owner.names
    known |= about or {}
    wanted = () if binding is None else names_wanted(binding)
    secrets = target.deployment.secrets.values()
    return {
        name: value
        for name, value in known.items()
        if name in wanted and not any(secret in str(value) for secret in secrets)
    }


def choices(theirs: Names, own: Names) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to name of theirs, in words and as names: all that differs, and then each by itself, the rest being own."""
    differing = {name: value for name, value in theirs.items() if value != own.get(name)}
    if differing:
        yield f"the {' and the '.join(differing)}", differing
    if len(differing) > 1 and all(name in own for name in differing):
        for name, value in differing.items():
            yield f"the {name}", {name: value}


async def must_be_as_absent(target: Target, what: str, say: Say, taken: Names, known: Sequence[Any]) -> bool:
    """Asks for what is not there, for what is another's, and again for what is not there. Whether it could be compared.

    A difference counts when it is there every time. `known`: values that somebody has.
    """
    nobodys = absent_names(taken, known)
    if nobodys is None:
        return False
    steady: list[str] | None = None
    sent = (list(taken.values()), list(nobodys.values()), list(nobodys.values()))
    for _ in range(TRIES):
        first, said, second = await say(nobodys), await say(taken), await say(nobodys)
        lost = [one for one in (first, said, second) if one.outcome == "lost"]
        control(not lost, f"{what}: no answer to compare", *lost, timing=True)
        found = differences(said, (first, second), sent, target.deployment.profile.tools.volatile)
        steady = found if steady is None else [place for place in steady if place in found]
        if not found:
            return True
        control(bool(steady), f"{what}: the answers differ, and each time elsewhere ({found[0]})", first, said, second)
    assert steady
    places = ", ".join(steady[:5])
    reason = f"{what} is not answered like one with what is not there (tools.foreign = hidden): {places}"
    raise LawFailed(reason, (first, said, second))
