"""How is a sentence read? In lower case, as words, as phrases; and how is a part of it made presentable?

Source: contract vaultclaw 18.1; "cleaned" of 18.5.
"""

from __future__ import annotations

import re

from lasttick.model.vaultclaw.json_text import trim

_BLANKS = re.compile(r"[^\S\x1c-\x1f]+")
"""Unicode white space; the four separators U+001C to U+001F are none (contract 1)."""
_WORD = re.compile("[a-z0-9]{2,}")
_EDGE = " .,:;!?\"'"


def lower(text: str) -> str:
    """Lower case, each character alone: a final sigma and a dotted capital i have no case of their own here."""
    return text.lower() if text.isascii() else "".join(character.lower()[0] for character in text)


def collapsed(text: str) -> str:
    """Each run of white space is one blank, none is at the ends."""
    return _BLANKS.sub(" ", text).strip(" ")


def normal(text: str) -> str:
    """The normal text: lower case, white space collapsed."""
    return lower(collapsed(text))


def words(text: str) -> list[str]:
    """Runs of two or more ASCII letters and digits, lower case, in order, repeats kept."""
    return _WORD.findall(lower(text))


def tokens(text: str) -> frozenset[str]:
    return frozenset(words(text))


def has_phrase(normal_text: str, phrase: str) -> bool:
    """Whether the phrase stands in it between blanks or at an end; punctuation beside it hides it."""
    return f" {phrase} " in f" {normal_text} "


def cleaned(text: str, bytes_max: int) -> str:
    """White space collapsed, blanks and punctuation stripped at both ends, cut to so many UTF-8 bytes, trimmed.

    Each byte of a character that the cut splits shows as U+FFFD.
    """
    clean = collapsed(text).strip(_EDGE)
    encoded = clean.encode()
    if len(encoded) <= bytes_max:
        return clean
    head = encoded[:bytes_max].decode("utf-8", "ignore")
    split = bytes_max - len(head.encode())
    return trim(head + "\ufffd" * split)
