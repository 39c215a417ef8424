"""Is what is somebody else's answered like what is not there? Ids that nobody has, and answers compared; pure.

Two answers about what is not there tell which parts change by themselves (request ids, counters); only what both agree
on is held against the answer about what is another's. Source: contract laws, "Declared policy" (tools.foreign).
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lasttick.laws.said import Said

VOLATILE = ("/headers/date", "/headers/content-length")
"""The time of an answer, and how long what it echoes is."""
ECHO = "\N{WHITE SQUARE}"
"""Stands for whatever an answer repeats of what was asked."""
_CLASSES = (string.digits, "abcdef", "ABCDEF", string.ascii_lowercase, string.ascii_uppercase)
_TAIL = re.compile(r"[A-Za-z0-9]+(?=[^A-Za-z0-9]*\Z)")
_TURNS = (5, 3, 7, 1, 2, 4, 6, 8, 9)


def absent_like(value: Any, known: Iterable[Any]) -> Any:
    """A value of the same shape that is none of `known`; None where none can be made.

    Digits become digits and letters letters (hex ones where the end could be hex), so that a UUID stays one.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    taken = [str(one) for one in known]
    text = str(value)
    tail = _TAIL.search(text)
    if tail is None:
        return None
    for turn in _TURNS:
        turned = _turned(tail.group(), turn)
        made = text[: tail.start()] + turned + text[tail.end() :]
        if made != text and made not in taken and not (isinstance(value, int) and turned.startswith("0")):
            return int(made) if isinstance(value, int) else made
    return None


def absent_names(taken: Mapping[str, Any], known: Sequence[Any]) -> dict[str, Any] | None:
    """The same names with what is not there. A resource stays: who may have which is no secret of its holder.

    None where a name has no absent value, or nothing would differ.
    """
    made = {name: value if name == "resource" else absent_like(value, known) for name, value in taken.items()}
    return made if None not in made.values() and made != dict(taken) else None


def differences(
    foreign: Said, absent: tuple[Said, Said], sent: Sequence[Sequence[Any]], volatile: Sequence[str]
) -> list[str]:
    """Where the answer about what is another's is not that about what is not there, as pointers.

    `sent`: what each of the three calls named, which an answer may repeat.
    """
    theirs, first, second = (_parts(said, named) for said, named in zip((foreign, *absent), sent, strict=True))
    places = dict.fromkeys([*theirs, *first, *second])
    return [
        place
        for place in places
        if first.get(place) == second.get(place) != theirs.get(place) and not _is_in(place, (*VOLATILE, *volatile))
    ]


def _is_in(place: str, pointers: Iterable[str]) -> bool:
    return any(place == pointer or place.startswith(f"{pointer}/") for pointer in pointers)


def _parts(said: Said, named: Sequence[Any]) -> dict[str, str]:
    """Every value of an answer as text, by its pointer. Lines are left out where a body says them."""
    document = said.reply.document()
    lines = document.pop("lines")
    if document["body"] is None:
        document["lines"] = lines
    echoes = _echoes([*named, *((said.mark.text, said.mark.number) if said.mark else ())])
    return {place: echoes.sub(ECHO, text) if echoes else text for place, text in _flat(document)}


def _flat(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """What is empty has a place too. The nesting was bounded when the answer was read."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(item, f"{at}/{key}")
    elif isinstance(value, list | tuple) and value:
        for index, item in enumerate(value):
            yield from _flat(item, f"{at}/{index}")
    else:
        yield at, value if isinstance(value, str) else repr(value)


def _echoes(named: Sequence[Any]) -> re.Pattern[str] | None:
    texts = sorted({str(one): None for one in named if str(one)}, key=len, reverse=True)
    if not texts:
        return None
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, texts))})(?![A-Za-z0-9])")


def _turned(text: str, turn: int) -> str:
    is_hex = all(character in string.hexdigits for character in text)
    return "".join(_walk(text, turn, is_hex))


def _walk(text: str, turn: int, is_hex: bool) -> Iterator[str]:
    for character in text:
        for alphabet in _CLASSES:
            if character in alphabet and (is_hex or alphabet not in ("abcdef", "ABCDEF")):
                yield alphabet[(alphabet.index(character) + turn) % len(alphabet)]
                break
