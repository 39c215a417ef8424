"""Wrong servers that lead an agent astray on its way from a wish to a mail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.tools import recipes
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer

JOURNEY = "vaultclaw/journey/"


async def by_trying_it(self: Vault, plan: Mapping[str, Any]) -> VaultAnswer:
    """A plan that can be executed is valid."""
    answer = await self.plan_execute({"plan": plan})
    return VaultAnswer(answer.status, answer.request_id, {"valid": True, "errors": []})


def oldest_first(right: Any) -> Callable[..., Any]:
    """Of a cookbook's versions the one that has proven itself longest comes first."""

    async def search(self: Catalog, **given: Any) -> Any:
        return list(reversed(await right(self, **given)))

    return search


def with_blanks(right: Any) -> Callable[..., Any]:
    """What is not given is rendered empty; the vault will say so if it matters."""

    def render(entry: dict[str, Any], inputs: dict[str, Any], *more: Any) -> Any:
        blank = {one["input_key"]: "" for one in entry.get("bindings", ()) if "default" not in one}
        return right(entry, {**blank, **inputs}, *more)

    return render


async def never_mind(self: Vault, type_id: str, subject_id: str) -> VaultAnswer:
    """A document that is not there may come before the mail goes out."""
    return VaultAnswer(200, "0" * 32, {"document_id": type_id, "item": {"document_id": type_id}})


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/validates-by-executing",
        breaks="VC-23",
        text="plan_validate executes the plan to see whether it is valid",
        killed_by=JOURNEY + "from-a-wish-to-a-mail-that-was-allowed",
        patch=lambda seam: seam.replace(Vault, "plan_validate", by_trying_it),
    ),
    Mutant(
        "vaultclaw/oldest-recipe-first",
        breaks="VC-23",
        text="a search shows the oldest version of a cookbook first",
        killed_by=JOURNEY + "from-a-wish-to-a-mail-that-was-allowed",
        patch=lambda seam: seam.wrap(Catalog, "search", oldest_first),
    ),
    Mutant(
        "vaultclaw/missing-input-is-blank",
        breaks="VC-23",
        text="a required input that is missing is rendered as an empty text",
        killed_by=JOURNEY + "a-step-that-fails-leaves-nothing-executed[render]",
        patch=lambda seam: seam.wrap(recipes, "render", with_blanks),
    ),
    Mutant(
        "vaultclaw/latest-never-fails",
        breaks="VC-23",
        text="a document that is missing is told as found",
        killed_by=JOURNEY + "a-step-that-fails-leaves-nothing-executed[latest]",
        patch=lambda seam: seam.replace(Vault, "latest_document", never_mind),
    ),
]
