"""What must hold, and where is that written? The requirements of every system and the laws, read from TOML.

One file per system beside this module, and `laws.toml`; a table per id.
Source: contract world, "Requirement and mutant".
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.requirements.errors import CatalogueError
from lasttick.requirements.ids import LAW_ID, REQUIREMENT_ID

VERSION = 1
LAWS = "laws"
SHAPE = 'version = 1, system = "NAME" and a table per id with text, source, laws and, if not built yet, planned'


@dataclass(frozen=True, slots=True)
class Requirement:
    """One id of one system. `planned` names the capability that will bring it; None when it is built.

    A law is one too: its `system` is "laws", and it has no laws of its own.
    """

    id: str
    system: str
    text: str
    source: tuple[str, ...]
    laws: tuple[str, ...]
    planned: str | None

    @property
    def is_law(self) -> bool:
        return self.system == LAWS


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every requirement and law, in the order of the files."""

    entries: tuple[Requirement, ...]

    def __getitem__(self, id_: str) -> Requirement:
        """Raises KeyError for an id that the catalogue does not hold."""
        for entry in self.entries:
            if entry.id == id_:
                return entry
        raise KeyError(id_)

    def __contains__(self, id_: str) -> bool:
        return any(entry.id == id_ for entry in self.entries)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.entries)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return tuple(entry for entry in self.entries if not entry.is_law)

    @property
    def laws(self) -> tuple[Requirement, ...]:
        return tuple(entry for entry in self.entries if entry.is_law)

    def laws_of(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The laws that a claim of `ids` speaks for, its requirements' and those claimed; planned ones left out.

        Raises KeyError for an unknown id.
        """
        named: dict[str, None] = {}
        for id_ in ids:
            entry = self[id_]
            named.update(dict.fromkeys((entry.id,) if entry.is_law else entry.laws))
        return tuple(law for law in named if self[law].planned is None)

    def requirements_of_law(self, law: str) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.entries if law in entry.laws)


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """Read every TOML file of `folder` (default: the shipped catalogue), by name.

    Raises CatalogueError for a file that is unreadable or not TOML, a wrong shape, a doubled id or an unknown law.
    """
    folder = folder or Path(__file__).parent
    entries: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.toml")):
        for entry in _read(path):
            if entry.id in entries:
                raise _wrong(path, entry.id, "the id occurs twice in the catalogue", "every id once")
            entries[entry.id] = entry
    for entry in entries.values():
        for law in entry.laws:
            if law not in entries or not entries[law].is_law:
                raise _wrong(folder, entry.id, f"laws names {law!r}", "ids of laws.toml")
    return Catalogue(tuple(entries.values()))


def _read(path: Path) -> list[Requirement]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{path.name} can not be read: {error}", SHAPE, f"correct {path.name}") from error
    version, system = document.pop("version", None), document.pop("system", None)
    if version != VERSION:
        raise _wrong(path, "version", f"version is {version!r}", f"version = {VERSION}")
    if not isinstance(system, str) or not system:
        raise _wrong(path, "system", f"system is {system!r}", "the name of one system, or laws")
    return [_entry(path, system, id_, table) for id_, table in document.items()]


def _entry(path: Path, system: str, id_: str, table: Any) -> Requirement:
    is_law = system == LAWS
    if not (LAW_ID if is_law else REQUIREMENT_ID).fullmatch(id_):
        raise _wrong(path, id_, "this is no id", "an id like lease/exclusive" if is_law else "an id like HA-06")
    if not isinstance(table, Mapping):
        raise _wrong(path, id_, f"the value is {table!r}", "a table")
    fields = {"text", "source", "planned"} | (set() if is_law else {"laws"})
    unknown = sorted(set(table) - fields)
    if unknown:
        raise _wrong(path, id_, f"unknown field {unknown[0]!r}", f"only {', '.join(sorted(fields))}")
    return Requirement(
        id=id_,
        system=system,
        text=_text(path, id_, "text", table.get("text")),
        source=_texts(path, id_, "source", table.get("source")),
        laws=() if is_law else _texts(path, id_, "laws", table.get("laws"), may_be_empty=True),
        planned=_text(path, id_, "planned", table["planned"]) if "planned" in table else None,
    )


def _text(path: Path, id_: str, field: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(path, id_, f"{field} is {value!r}", f"{field} as a text that is not empty")
    return value


def _texts(path: Path, id_: str, field: str, value: Any, *, may_be_empty: bool = False) -> tuple[str, ...]:
    if not isinstance(value, list) or not (value or may_be_empty) or not all(isinstance(item, str) for item in value):
        raise _wrong(path, id_, f"{field} is {value!r}", f"{field} as a list of texts")
    return tuple(value)


def _wrong(path: Path, id_: str, what: str, expected: str) -> CatalogueError:
    return CatalogueError(f"{path.name}, {id_}: {what}", f"{expected} ({SHAPE})", f"correct {id_} in {path.name}")
