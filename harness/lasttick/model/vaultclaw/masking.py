"""How does a token stay out of every answer? It is shown masked, and cut out of whatever else would show it.

A hostile vault may echo a token in any form. `KnownTokens` finds the tokens it was told: whole ones in each of their
forms (as they are, JSON-escaped, percent-encoded, base64 at any alignment), and pieces of `PIECE` characters of those.
Two things are left, since cutting them would wreck honest answers: a piece that could be words (`vaultclaw` in a token
would else be cut out of every tool name), and a token shorter than `PIECE` inside of a longer word.
Source: contract vaultclaw 6, ruling 17; VC-02.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote

STARS = "***"
SHOWN_FROM_BYTES = 12
"""A shorter token is not shown at all (ruling 17)."""
PIECE = 8
LONG = 4096
"""A longer token is only found whole: its pieces would fill the memory."""
TOKENS_MAX = 2048
"""So many tokens are known at once; the oldest is forgotten first."""
_WORDS = re.compile(r"[a-z ._:/-]*")


def masked_token(token: str) -> str:
    """As session_status shows it: the first and the last three bytes of a token of 12 bytes or more."""
    data = token.encode("utf-8", "replace")
    if len(data) < SHOWN_FROM_BYTES:
        return STARS
    return data[:3].decode("utf-8", "replace") + STARS + data[-3:].decode("utf-8", "replace")


def forms(token: str) -> list[str]:
    """Every text in which a token of at least `PIECE` characters is looked for, the longest first."""
    data = token.encode("utf-8", "replace")
    percent = quote(data, safe="")
    found = {token, json.dumps(token)[1:-1], json.dumps(token, ensure_ascii=False)[1:-1], percent, percent.lower()}
    for shift in range(3):
        # What goes before the token decides how its bits fall; only characters that are all the token's are kept.
        encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        own = encoded[(shift * 8 + 5) // 6 : (shift + len(data)) * 8 // 6]
        found |= {own, own.replace("+", "-").replace("/", "_")}
    return sorted((form for form in found if len(form) >= PIECE), key=lambda form: (-len(form), form))


class KnownTokens:
    """The tokens that no answer may show. It only learns; a token that is no longer used is as secret as before."""

    def __init__(self) -> None:
        self._forms: dict[str, list[str]] = {}
        self._plain: dict[str, None] = {}
        """Those too short or too long for pieces."""
        self._holders: dict[str, dict[str, None]] = {}
        """Piece -> the tokens that have it, in order."""

    def learn(self, token: str) -> None:
        """From now on `token` is cut out. A blank one is none."""
        if not token or token in self._forms:
            return
        if len(self._forms) >= TOKENS_MAX:
            self._forget(next(iter(self._forms)))
        if PIECE <= len(token) <= LONG:
            self._forms[token] = forms(token)
        else:
            self._forms[token], self._plain[token] = [], None
        for piece in self._pieces(token):
            self._holders.setdefault(piece, {})[token] = None

    def masked(self, value: Any) -> Any:
        """A copy of a JSON value without any known token, in keys, texts and numbers."""
        if isinstance(value, str):
            return self.masked_text(value)
        if isinstance(value, dict):
            return {self._masked_long(key): self.masked(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.masked(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if self._masked_long(digits := str(value)) == digits else STARS
        return value

    def masked_text(self, text: str) -> str:
        text = self._masked_long(text)
        for token in self._plain:
            if token in text:
                text = text.replace(token, STARS) if len(token) > LONG else _without_word(text, token)
        return text

    def _masked_long(self, text: str) -> str:
        """Without the tokens that have pieces, whole and in pieces."""
        pieces = [piece for i in range(len(text) - PIECE + 1) if (piece := text[i : i + PIECE]) in self._holders]
        for token in {token: None for piece in pieces for token in self._holders[piece]}:
            for form in self._forms[token]:
                text = text.replace(form, STARS)
        return self._without_pieces(text) if pieces else text

    def _without_pieces(self, text: str) -> str:
        kept: list[str] = []
        end = 0
        for i in range(len(text) - PIECE + 1):
            piece = text[i : i + PIECE]
            if piece in self._holders and not _WORDS.fullmatch(piece):
                kept += [text[end:i], STARS] if i > end or not kept else []
                end = i + PIECE
        return "".join([*kept, text[end:]])

    def _pieces(self, token: str) -> dict[str, None]:
        return {form[i : i + PIECE]: None for form in self._forms[token] for i in range(len(form) - PIECE + 1)}

    def _forget(self, token: str) -> None:
        for piece in self._pieces(token):
            del self._holders[piece][token]
            if not self._holders[piece]:
                del self._holders[piece]
        del self._forms[token]
        self._plain.pop(token, None)


def _without_word(text: str, token: str) -> str:
    """Only where it stands alone."""
    return re.sub(rf"(?<!\w){re.escape(token)}(?!\w)", STARS, text)
