"""How is a fixed structure read out of JSON? Known members only; null is absent; a wrong type has a place and a name.

A record is a dict with the members of its fields in their order, which is the order of the canonical text. Source:
contract vaultclaw 15 ("Other members are dropped silently"), 17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.vaultclaw.json_text import sorted_keys, trim

Record = dict[str, Any]
Records = list[Record]
Reader = Callable[[Any, str], Any]
"""From a value that is not null, and its place, to what is kept of it. Raises WrongType."""


class WrongType(ValueError):
    """A member of another type than its field's."""


def read(value: Any, fields: Mapping[str, Reader], place: str) -> Record:
    """The members of `fields` that are there and not null. Raises WrongType, also when `value` is no object."""
    members = free_object(value, place)
    return {
        name: reader(members[name], f"{place}.{name}")
        for name, reader in fields.items()
        if members.get(name) is not None
    }


def without_empty(record: Record) -> Record:
    """Without empty strings, lists and objects among its members; what is inside of them stays."""
    return {name: value for name, value in record.items() if not (isinstance(value, str | list | dict) and not value)}


def raw_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(value, place, "a string")
    return value


def text(value: Any, place: str) -> str:
    return trim(raw_text(value, place))


def boolean(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, place, "true or false")
    return value


def integer(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, place, "an integral number")
    return value


def free_object(value: Any, place: str) -> Record:
    """A free-form object, its keys in byte order at every depth."""
    if not isinstance(value, dict):
        raise _wrong(value, place, "an object")
    ordered: Record = sorted_keys(value)
    return ordered


def anything(value: Any, place: str) -> Any:
    return sorted_keys(value)


def tags(value: Any, place: str) -> list[str]:
    """Trimmed, without blanks, distinct, sorted."""
    return sorted(set(texts(value, place)) - {""})


def texts(value: Any, place: str) -> list[str]:
    """A list of strings, trimmed; null in it is an empty one."""
    return ["" if item is None else text(item, f"{place}[{n}]") for n, item in enumerate(_list(value, place))]


def list_of(fields: Mapping[str, Reader]) -> Reader:
    """A list of records; null in it is an empty one."""

    def reader(value: Any, place: str) -> list[Record]:
        items = enumerate(_list(value, place))
        return [{} if item is None else read(item, fields, f"{place}[{n}]") for n, item in items]

    return reader


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, place, "a list")
    return value


def _wrong(value: Any, place: str, expected: str) -> WrongType:
    return WrongType(f"{place} is {_name(value)}; expected {expected}")


def _name(value: Any) -> str:
    names = ((type(None), "null"), (bool, "a boolean"), (str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")
