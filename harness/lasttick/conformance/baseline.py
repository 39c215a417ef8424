"""Which scenarios must pass, and which failures are known? A file for each system, suite version and revision.

With fixtures the suite itself says what a revision requires; without them the list is here, and so is every known
failure with its reason. Source: contract mcp_conformance, section 4.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

FILE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Section:
    """`required` None: what the suite says. `known`: scenario, or scenario:check -> why it fails."""

    known: Mapping[str, str]
    required: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """`pending`: what the suite has for this revision and does not score. No `fixtures`: the system serves none."""

    bare: Section
    fixtures: Section | None
    pending: tuple[str, ...]


def load(system: str, suite: str, revision: str) -> Baseline | None:
    """None when this system is not judged by that suite in that revision."""
    file = resources.files(__package__) / "baselines" / f"{system}-{suite}-{revision}.toml"
    if not file.is_file():
        return None
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    assert data["version"] == FILE_VERSION, f"{file}: version {data['version']}; expected {FILE_VERSION}"
    bare = Section(data["bare"].get("known", {}), tuple(data["bare"]["required"]))
    fixtures = Section(data["fixtures"].get("known", {})) if "fixtures" in data else None
    return Baseline(bare, fixtures, tuple(data.get("pending", ())))
