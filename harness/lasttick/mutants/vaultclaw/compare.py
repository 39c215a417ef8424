"""Wrong ways to compare two servers, and the readings of rulings that only a comparison looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lasttick.compare import judge
from lasttick.compare.rulings import Row
from lasttick.model.vaultclaw.routing.request import Inputs
from lasttick.mutants import Mutant

COMPARE = "vaultclaw/compare/"


def answers_only(right: Any) -> Callable[..., Any]:
    """What the vault and the catalogs were asked is not looked at."""

    def differing(ours: Mapping[str, Any], peers: Mapping[str, Any]) -> Any:
        return [one for one in right(ours, peers) if one[0].startswith("/answer")]

    return differing


def any_row(rows: Sequence[Row], ours: Any, peers: Any, path: str) -> Row | None:
    """Where a ruling speaks of a step, every difference is said to be its own."""
    return rows[0] if rows else None


def last_first(right: Any) -> Callable[..., Any]:
    """Facts fill the inputs from the last name to the first."""

    def fill_by_name(self: Inputs, keys: Iterable[str], facts: Mapping[str, Any]) -> None:
        for key in sorted(set(keys), reverse=True):
            right(self, [key], facts)

    return fill_by_name


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/compare-looks-at-answers-only",
        breaks="VC-21",
        text="two servers count as alike although they ask the vault for different things",
        killed_by=COMPARE + "what-only-the-vault-sees-is-a-difference",
        patch=lambda seam: seam.wrap(judge, "differing", answers_only),
    ),
    Mutant(
        "vaultclaw/compare-excuses-everything",
        breaks="VC-21",
        text="any difference on a step of which a ruling speaks counts as that ruling's",
        killed_by=COMPARE + "a-ruling-excuses-nothing-else",
        patch=lambda seam: seam.replace(judge, "covering", any_row),
    ),
    Mutant(
        "vaultclaw/compare-hides-the-unexercised",
        breaks="VC-21",
        text="a ruling that no step exercised is not reported",
        killed_by=COMPARE + "a-ruling-never-exercised-is-told",
        patch=lambda seam: seam.replace(judge.Report, "unexercised", ()),
    ),
    Mutant(
        "vaultclaw/facts-in-any-order",
        breaks="VC-21",
        ruling=18,
        text="facts fill the inputs of a route in another order than that of their names",
        killed_by=COMPARE + "the-same-server-twice-is-alike-and-keeps-every-ruling",
        patch=lambda seam: seam.wrap(Inputs, "fill_by_name", last_first),
    ),
]
