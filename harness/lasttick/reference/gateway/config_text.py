"""Where in an operator's YAML text does each entry of a mapping stand, character for character?

A round trip through a YAML library re-quotes, re-wraps and drops comments (contract gateway, GW-16). So the text is
never written anew: it is read once for its data and for the places of its entries, and then spliced. Source of the
places: the marks of PyYAML's tokens; those of its nodes end late (at the next token) and, for an alias, lie elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import yaml

BREAKS = "\r\n\x85\u2028\u2029"
_LINE = re.compile(rf"[^{BREAKS}]*(?:\r\n|[{BREAKS}]|\Z)")
_NEWLINE = re.compile(r"\r\n|\n|\r")
MERGE_KEY = "<<"


class TextError(Exception):
    """The text cannot be edited: `happened` says why, without any of its values, which may be secrets."""

    def __init__(self, happened: str) -> None:
        super().__init__(happened)
        self.happened = happened


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value`. Indexes are into the text; `end` is behind the last character of the value that counts.

    `alias`: the value stands elsewhere, and changing it there would change more than this entry.
    """

    key_start: int
    key_column: int
    colon_end: int
    end: int
    alias: bool
    value: yaml.Node

    @property
    def bare(self) -> bool:
        """Nothing stands behind the colon, not even `~`."""
        return self.end == self.colon_end


@dataclass(frozen=True, slots=True)
class Layout:
    """A mapping as it is written. `column` is that of its keys; `inside` the index behind `{` of a flow mapping."""

    flow: bool
    column: int
    inside: int
    entries: dict[str, Entry]
    first: Entry | None
    last: Entry | None


class _Recorder(yaml.SafeLoader):
    """Keeps the tokens that a safe load goes through."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.seen: list[yaml.Token] = []

    def get_token(self) -> yaml.Token | None:
        token = super().get_token()
        if token is not None and token.end_mark.index > token.start_mark.index:
            self.seen.append(token)
        return token


class ConfigText:
    """One YAML document, read as the agent reads it. Raises TextError for what it could not read, and for a mapping
    with the same key twice, of which nobody knows which one is meant."""

    def __init__(self, text: str) -> None:
        self.text = text
        loader: Any
        try:
            loader = _Recorder(text)
            self.root: yaml.Node | None = loader.get_single_node()
            doubled = _doubled(loader, self.root)
        except Exception as error:
            raise _unreadable(error) from error
        if doubled is not None:
            raise TextError(f"has a key twice in one mapping (lines {doubled[0]} and {doubled[1]})")
        self.tokens: list[yaml.Token] = loader.seen
        self._starts = [token.start_mark.index for token in self.tokens]
        self._layouts = {id(node): self._layout(node) for node in _editable(self.root)}
        try:
            # Last: it flattens merge keys inside the nodes.
            self.data: Any = None if self.root is None else loader.construct_document(self.root)
        except Exception as error:
            raise _unreadable(error) from error

    @property
    def newline(self) -> str:
        """The line break that the text uses."""
        found = _NEWLINE.search(self.text)
        return "\n" if found is None else found[0]

    def layout(self, node: yaml.Node) -> Layout:
        """Of the root mapping, or of a mapping one or two levels below it."""
        return self._layouts[id(node)]

    def ends_in_open_scalar(self) -> bool:
        """Does the text end inside a block scalar, without a line break? Whatever is appended changes its value."""
        last = self.tokens[-1] if self.tokens else None
        open_end = isinstance(last, yaml.ScalarToken) and last.style in ("|", ">")
        return last is not None and open_end and last.end_mark.index == len(self.text) and not self._broken()

    def below(self, end: int, column: int) -> int:
        """The start of the line below the content that ends at `end`, and below the comments that belong to it: those
        that are indented by at least `column`."""
        at = end if end > 0 and self.text[end - 1] in BREAKS else self._next_line(end)
        line = at
        while line < len(self.text):
            behind = self._next_line(line)
            written = self.text[line:behind]
            content = written.strip()
            indent = len(written) - len(written.lstrip(" "))
            if content and not (content.startswith("#") and indent >= column):
                break
            line = behind
            at = line if content else at
        return at

    def on_own_lines(self, at: int, lines: list[str]) -> str:
        """`lines` as the text to be put in at `at`, which is the start of a line or the end of the text."""
        body = self.newline.join(lines)
        if at == len(self.text) and at > 0 and not self._broken():
            return self.newline + body
        return body + self.newline

    def _broken(self) -> bool:
        return self.text[-1:] in tuple(BREAKS)

    def _next_line(self, index: int) -> int:
        found = _LINE.match(self.text, index)
        assert found is not None
        return found.end()

    def _layout(self, node: yaml.MappingNode) -> Layout:
        flow = bool(node.flow_style)
        stop = node.end_mark.index - 1 if flow else node.end_mark.index
        starts = [key.start_mark.index for key, _ in node.value]
        if any(later <= earlier for earlier, later in pairwise(starts)):
            raise TextError("has an alias as a key beside those of mcp_servers")
        entries: dict[str, Entry] = {}
        placed: Entry | None = None
        first: Entry | None = None
        for (key, value), limit in zip(node.value, [*starts, stop][1:], strict=True):
            placed = self._entry(key, value, limit)
            first = first or placed
            if isinstance(key, yaml.ScalarNode) and key.tag == "tag:yaml.org,2002:str":
                entries[key.value] = placed
        column = 0 if first is None else first.key_column
        return Layout(flow, column, self._behind_brace(node) if flow else -1, entries, first, placed)

    def _entry(self, key: yaml.Node, value: yaml.Node, limit: int) -> Entry:
        at = bisect_left(self._starts, key.start_mark.index)
        before = self.tokens[at - 1] if at else None
        # An explicit key begins with its `?`.
        begin = before.start_mark if isinstance(before, yaml.KeyToken) else key.start_mark
        colon_end = end = key.end_mark.index
        colon = None
        for token in self.tokens[bisect_left(self._starts, end) : bisect_left(self._starts, limit)]:
            if colon is None and isinstance(token, yaml.ValueToken):
                colon = token
                colon_end = token.end_mark.index
            if not isinstance(token, yaml.FlowEntryToken | yaml.KeyToken):
                end = token.end_mark.index
        alias = not colon_end <= value.start_mark.index <= limit
        return Entry(begin.index, begin.column, colon_end, end, alias, value)

    def _behind_brace(self, node: yaml.MappingNode) -> int:
        """An anchor or a tag may stand before the brace."""
        at = bisect_left(self._starts, node.start_mark.index)
        brace = next(token for token in self.tokens[at:] if isinstance(token, yaml.FlowMappingStartToken))
        return int(brace.end_mark.index)


def _editable(root: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """The mappings on the way to `mcp_servers.humanwork.tools`, each once."""
    node = root
    for name in ("mcp_servers", "humanwork", "tools", ""):
        if not isinstance(node, yaml.MappingNode):
            return
        yield node
        node = next((value for key, value in node.value if key.value == name), None)


def _doubled(loader: Any, root: yaml.Node | None) -> tuple[int, int] | None:
    """The lines of a key that one mapping has twice; None when there is none."""
    waiting = [] if root is None else [root]
    known: dict[int, yaml.Node] = {}
    while waiting:
        node = waiting.pop()
        if id(node) in known or isinstance(node, yaml.ScalarNode):
            continue
        known[id(node)] = node
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
            continue
        lines: dict[Any, int] = {}
        for key, value in node.value:
            waiting += [key, value]
            if not isinstance(key, yaml.ScalarNode):
                continue
            name = MERGE_KEY if key.tag == "tag:yaml.org,2002:merge" else loader.construct_object(key)
            line = key.start_mark.line + 1
            if name in lines:
                return lines[name], line
            lines[name] = line
    return None


def _unreadable(error: Exception) -> TextError:
    """Besides YAMLError, PyYAML lets through whatever int(), datetime and others raise. Only the place is told: the
    error's own text quotes the line, and a secret may stand on it."""
    mark = getattr(error, "problem_mark", None)
    where = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
    return TextError(f"is not YAML that can be read{where}")
