"""Wrong versions of the catalog on disk and of its templates: torn, raced, stale, or asked of the vault."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse
from lasttick.model.vaultclaw.template import Growing
from lasttick.mutants import Mutant
from lasttick.reference import durable
from lasttick.reference.vaultclaw import program, start_up
from lasttick.reference.vaultclaw.catalog import catalog, seeding
from lasttick.reference.vaultclaw.catalog.catalog import OVERWRITE, SKIP_IF_EXISTS, Catalog
from lasttick.reference.vaultclaw.catalog.files import Files
from lasttick.reference.vaultclaw.catalog.lock import CatalogLock
from lasttick.reference.vaultclaw.tool import Tool, ToolCall
from lasttick.reference.vaultclaw.tools import recipes

CATALOG = "vaultclaw/catalog/"
CRASH = "vaultclaw/catalog-crash/"
LOCK = "vaultclaw/catalog-lock/"
RENDER = "vaultclaw/render/"


def trusts_the_index(right: Any) -> Callable[..., Any]:
    """An index that can be read is right, whatever the files say."""

    def _reconcile(self: Catalog) -> Any:
        known = self._known()
        return right(self) if known is None else known

    return _reconcile


def in_place(self: Files, contents: Mapping[Path, bytes], gone: Path | None = None) -> None:
    """Each file is opened, emptied and written again."""
    for path, content in contents.items():
        self.make_folder(path.parent)
        with self.step("write", path):
            path.write_bytes(content)
    if gone is not None:
        with self.step("unlink", gone):
            gone.unlink()


def free_for_all(self: CatalogLock, fd: int) -> bool:
    return True


def without_sync(folder: Path) -> None:
    """The folder is written back whenever the system likes."""


def newest_by_text(versions: list[str]) -> str | None:
    return max(versions, default=None)


def replaces(given: str) -> str:
    """Whatever the policy says, what is there is replaced."""
    return OVERWRITE


def seeds_again(right: Any) -> Callable[..., Any]:
    """A bundled cookbook that is missing is brought in again at each start."""

    async def seed(store: Catalog, folder: Path, clock: Any, say: Any) -> None:
        await right(store, folder, clock, say)
        for _, data in seeding.bundle_files(folder):
            await store.upsert(parse(data), SKIP_IF_EXISTS)

    return seed


async def nothing_was_bundled(store: Catalog) -> list[tuple[str, str]]:
    return []


def validates_at_the_vault(right: Any) -> Callable[..., Any]:
    """With a session, what was rendered is shown to the vault."""

    async def render(call: ToolCall) -> Any:
        done = await recipes.template_render(call)
        try:
            await call.vault.validate(done.data["rendered"])
        except ToolFailure:
            return done
        return done

    def all_tools() -> tuple[Tool, ...]:
        name = "vaultclaw_template_render"
        return tuple(dataclasses.replace(tool, run=render) if tool.name == name else tool for tool in right())

    return all_tools


def null_is_missing(right: Any) -> Callable[..., Any]:
    def render(entry: Any, inputs: Mapping[str, Any], *rest: Any) -> Any:
        return right(entry, {key: value for key, value in inputs.items() if value is not None}, *rest)

    return render


def names_the_first(right: Any) -> Callable[..., Any]:
    """Only the first missing input is named."""

    def render(*given: Any) -> Any:
        try:
            return right(*given)
        except ToolFailure as failure:
            missing = failure.details.get("missing_inputs", ())
            if len(missing) < 2:
                raise
            raise ToolFailure(
                failure.code, failure.message, {**failure.details, "missing_inputs": missing[:1]}
            ) from None

    return render


def digits_are_keys(right: Any) -> Callable[..., Any]:
    """In an object, digits are a key like any other."""

    def _with(self: Growing, node: Any, steps: list[str], value: Any) -> Any:
        if steps and isinstance(node, dict):
            step, *rest = steps
            node[step] = self._with(node.get(step), rest, value)
            return node
        return right(self, node, steps, value)

    return _with


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/stale-index-trusted",
        breaks="VC-15",
        ruling=15,
        text="an index that can be read is believed, although the bundle files say otherwise",
        killed_by=LOCK + "a-stale-index-is-put-right",
        patch=lambda seam: seam.wrap(Catalog, "_reconcile", trusts_the_index),
    ),
    Mutant(
        "vaultclaw/catalog-written-in-place",
        breaks="VC-15",
        text="a file of the catalog is emptied and written again, not replaced",
        killed_by=CRASH + "a-kill-within-a-write-leaves-the-old-catalog[0]",
        patch=lambda seam: seam.replace(Files, "put", in_place),
    ),
    Mutant(
        "vaultclaw/catalog-lock-ignored",
        breaks="VC-15",
        text="who finds the lock taken goes on all the same",
        killed_by=CRASH + "of-two-that-insert-one-id-exactly-one-wins",
        patch=lambda seam: seam.replace(CatalogLock, "_taken", free_for_all),
    ),
    Mutant(
        "vaultclaw/rename-not-synced",
        breaks="VC-15",
        text="a change is answered before its file's name is on the disk",
        killed_by=CRASH + "a-new-content-is-on-the-disk-before-its-name",
        patch=lambda seam: seam.replace(durable, "sync_folder", without_sync),
    ),
    Mutant(
        "vaultclaw/versions-as-text",
        breaks="VC-15",
        text="without a version it is the one that comes last as a text",
        killed_by=CATALOG + "versions-are-compared-token-by-token",
        patch=lambda seam: seam.replace(catalog, "highest", newest_by_text),
    ),
    Mutant(
        "vaultclaw/every-upsert-overwrites",
        breaks="VC-15",
        text="a version that is there is replaced whatever the conflict policy says",
        killed_by=CATALOG + "a-conflict-is-settled-by-its-policy",
        patch=lambda seam: seam.replace(catalog, "conflict_policy", replaces),
    ),
    Mutant(
        "vaultclaw/deleted-cookbook-is-seeded-again",
        breaks="VC-15",
        ruling=10,
        text="a bundled cookbook that somebody deleted is back after the next start",
        killed_by=CATALOG + "a-deleted-bundled-cookbook-stays-deleted",
        patch=lambda seam: seam.wrap(program, "seed", seeds_again),
    ),
    Mutant(
        "vaultclaw/deleted-cookbook-ends-the-start",
        breaks="VC-15",
        ruling=10,
        text="a bundled cookbook that somebody deleted keeps the server from starting",
        killed_by=CATALOG + "a-deleted-bundled-cookbook-stays-deleted",
        patch=lambda seam: seam.replace(start_up, "bundled", nothing_was_bundled),
    ),
    Mutant(
        "vaultclaw/render-asks-the-vault",
        breaks="VC-16",
        text="with a session, a rendered template is validated at the vault",
        killed_by=RENDER + "catalog-and-route-tools-never-call-the-vault",
        patch=lambda seam: seam.wrap(program, "all_tools", validates_at_the_vault),
    ),
    Mutant(
        "vaultclaw/null-input-is-missing",
        breaks="VC-16",
        text="an input that is null counts as not given",
        killed_by=RENDER + "the-worked-example",
        patch=lambda seam: seam.wrap(recipes, "render", null_is_missing),
    ),
    Mutant(
        "vaultclaw/only-the-first-missing-input",
        breaks="VC-16",
        text="of several missing inputs only the first one is named",
        killed_by=RENDER + "all-missing-inputs-are-named-in-order",
        patch=lambda seam: seam.wrap(recipes, "render", names_the_first),
    ),
    Mutant(
        "vaultclaw/digits-are-object-keys",
        breaks="VC-16",
        text="an index into an object sets a member of it",
        killed_by=RENDER + "a-path-sets-its-value-or-says-why-not",
        patch=lambda seam: seam.wrap(Growing, "_with", digits_are_keys),
    ),
]
