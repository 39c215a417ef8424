"""Wrong versions of the fence around the agent program's environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model import secret_fence
from lasttick.mutants import Mutant

FENCE = "gateway/fence/the-program-sees-what-the-lists-let-through"


def in_these_letters(name: str) -> bool:
    """Only in upper case does a name sound like a secret."""
    return any(part in name for part in secret_fence.DENIED_PARTS)


def prefix_first(right: Any) -> Callable[..., Any]:
    """A name with one of our prefixes passes, whatever else is in it."""
    return lambda name, **turn: name.startswith(secret_fence.ALLOWED_PREFIXES) or right(name, **turn)


def anything_else(right: Any) -> Callable[..., Any]:
    """A list of what is denied in place of one of what is allowed."""
    return lambda name, **turn: right(name, **turn) or not secret_fence.sounds_secret(name)


def containers_first(right: Any) -> Callable[..., Any]:
    """What the container says of org, run and tools wins over what the turn says."""

    def env(container: Mapping[str, str], **turn: Any) -> dict[str, str]:
        given = {name: container[name] for name in (secret_fence.ORG_ID, secret_fence.RUN_ID) if name in container}
        return {**right(container, **turn), **given}

    return env


def home_only(right: Any) -> Callable[..., Any]:
    """Of the program's own variables it needs the one that says where it lives."""
    return lambda name, **turn: right(name, **turn) and (not name.startswith("HERMES_") or name == "HERMES_HOME")


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/fence-passes-denied-names",
        breaks="GW-13",
        text="the parts of a name that sound like a secret are not looked at",
        killed_by=FENCE,
        patch=lambda seam: seam.replace(secret_fence, "sounds_secret", lambda name: False),
    ),
    Mutant(
        "gateway/fence-prefix-first",
        breaks="GW-13",
        text="HERMES_API_KEY passes for its prefix",
        killed_by=FENCE,
        patch=lambda seam: seam.wrap(secret_fence, "passes", prefix_first),
    ),
    Mutant(
        "gateway/fence-reads-upper-case-only",
        breaks="GW-13",
        text="a secret's name in other letters passes",
        killed_by=FENCE,
        patch=lambda seam: seam.replace(secret_fence, "sounds_secret", in_these_letters),
    ),
    Mutant(
        "gateway/fence-passes-by-default",
        breaks="GW-13",
        text="a variable passes unless its name sounds like a secret, so DATABASE_URL does",
        killed_by=FENCE,
        patch=lambda seam: seam.wrap(secret_fence, "passes", anything_else),
    ),
    Mutant(
        "gateway/fence-forwards-platform-token",
        breaks="GW-13",
        text="PLATFORM_API_TOKEN reaches the program, whose terminal prints it",
        killed_by=FENCE,
        patch=lambda seam: seam.replace(secret_fence, "FORWARDS", (*secret_fence.FORWARDS, "PLATFORM_API_TOKEN")),
    ),
    Mutant(
        "gateway/fence-forgets-forwards",
        breaks="GW-13",
        text="the two tokens that are meant for the program are dropped for their names",
        killed_by=FENCE,
        patch=lambda seam: seam.replace(secret_fence, "FORWARDS", (secret_fence.PLATFORM_URL,)),
    ),
    Mutant(
        "gateway/containers-run-wins",
        breaks="GW-13",
        text="an org or a run that stands in the container takes the place of the turn's",
        killed_by=FENCE,
        patch=lambda seam: seam.wrap(secret_fence, "hermes_env", containers_first),
    ),
    Mutant(
        "gateway/fence-drops-settings",
        breaks="GW-13",
        text="an operator's HERMES_ settings do not reach the program",
        killed_by="gateway/fence/the-programs-terminal-prints-no-secret[False]",
        patch=lambda seam: seam.wrap(secret_fence, "passes", home_only),
    ),
]
