"""`lasttick explain` and `lasttick requirements`: what must hold, who shows it, and which mutants break it.

Source: DESIGN "What machines read" (`requirements --json`).
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lasttick.cli.errors import PASSED, UsageError
from lasttick.requirements import (
    Catalogue,
    Claim,
    Coverage,
    Requirement,
    collect_claims,
    coverage,
    load_catalogue,
    nearby,
    scenarios_folder,
)

VERSION = 1
WIDTH = 100


def explain_id(wanted: str, *, as_json: bool) -> int:
    """Print one requirement or law. Raises UsageError for an unknown id, CatalogueError for unreadable files."""
    catalogue = load_catalogue()
    id_ = wanted if wanted in catalogue else wanted.upper()
    if id_ not in catalogue:
        near = nearby(id_, catalogue.ids) or nearby(wanted, catalogue.ids)
        raise UsageError(
            f"unknown id {wanted!r}" + (f"; near it: {', '.join(near)}" if near else ""),
            "a requirement such as HA-06 or a law such as lease/exclusive",
            "see lasttick requirements for every id",
        )
    claims, covered = _covered(catalogue)
    entry = catalogue[id_]
    if as_json:
        _print_json({"version": VERSION, **_as_json(entry, covered), **_law_only(catalogue, entry)})
    else:
        print("\n".join(_text(catalogue, entry, claims, covered)))
    return PASSED


def list_requirements(*, as_json: bool) -> int:
    """Print the whole catalogue; what is wrong with its coverage goes to standard error."""
    catalogue = load_catalogue()
    _, covered = _covered(catalogue)
    if as_json:
        entries = [_as_json(entry, covered) for entry in catalogue.requirements]
        _print_json({"version": VERSION, "requirements": entries})
    else:
        for entry in catalogue.requirements:
            print(f"{entry.id}  {_proof(entry, covered)}")
            print(textwrap.fill(entry.text, WIDTH, initial_indent="       ", subsequent_indent="       "))
    for finding in covered.findings:
        print(f"lasttick: {finding}", file=sys.stderr)
    return PASSED


def mutants() -> list[Any]:
    """The mutant catalogue; importing it imports the references, so only these commands do."""
    from lasttick.mutants import catalogue

    return catalogue()


def _covered(catalogue: Catalogue) -> tuple[list[Claim], Coverage]:
    claims = collect_claims(scenarios_folder(Path.cwd()))
    return claims, coverage(catalogue, claims, mutants())


def _as_json(entry: Requirement, covered: Coverage) -> dict[str, Any]:
    return {
        "id": entry.id,
        "system": entry.system,
        "laws": list(entry.laws),
        "text": entry.text,
        "source": list(entry.source),
        "scenarios": list(covered.scenarios[entry.id]),
        "mutants": list(covered.mutants[entry.id]),
        "planned": entry.planned,
    }


def _law_only(catalogue: Catalogue, entry: Requirement) -> dict[str, Any]:
    return {"requirements": list(catalogue.requirements_of_law(entry.id))} if entry.is_law else {}


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=1, ensure_ascii=True))


def _proof(entry: Requirement, covered: Coverage) -> str:
    if entry.planned is not None:
        return f"planned: {entry.planned}"
    return f"scenarios: {len(covered.scenarios[entry.id])}, mutants: {len(covered.mutants[entry.id])}"


def _text(catalogue: Catalogue, entry: Requirement, claims: Sequence[Claim], covered: Coverage) -> list[str]:
    lines = [
        f"{entry.id}  ({entry.system})",
        *textwrap.wrap(entry.text, WIDTH, initial_indent="  ", subsequent_indent="  "),
    ]
    lines.append(f"  source: {'; '.join(entry.source)}")
    if entry.laws:
        lines.append(f"  laws: {', '.join(entry.laws)}")
    if entry.is_law:
        lines.append(f"  requirements: {', '.join(catalogue.requirements_of_law(entry.id)) or 'none yet'}")
    if entry.planned is not None:
        lines.append(f"  planned: {entry.planned}")
    stories = {claim.scenario: claim.text.partition("\n\n")[0] for claim in claims}
    names = covered.scenarios[entry.id]
    lines += ["scenarios:", *(_item(name, stories.get(name, "")) for name in names)] if names else ["scenarios: none"]
    texts = {mutant.id: getattr(mutant, "text", "") for mutant in mutants()}
    killers = covered.mutants[entry.id]
    lines += ["mutants:", *(_item(name, texts[name]) for name in killers)] if killers else ["mutants: none"]
    return lines


def _item(name: str, text: str) -> str:
    story = textwrap.fill(text, WIDTH, initial_indent="      ", subsequent_indent="      ")
    return f"  {name}\n{story}" if text else f"  {name}"
