"""Does a reply of the model ask for a card, and what of it does a person read?

The model can only write text, so a card is a JSON object in its reply. It counts when it stands alone: nothing that is
quoted, explained, cut off or doubled becomes a card. The reply is judged once, as a whole, when its prompt has ended.
Source: contract lineup C-6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lasttick.model.lineup.frames import TOOL_CALL, check_version, object_end, strict_json, too_deep
from lasttick.model.lineup.shape import ShapeError, an_object

SEVERAL_BLOCKS: Final = "several blocks"
NOT_ALONE: Final = "block not alone"
TRUNCATED: Final = "truncated block"
END_TURN: Final = "end_turn"
FENCE_INFOS = ("", "json", "lineup")

_MARKER = re.compile(r'"type\\*"\s*:\s*\\*"' + re.escape(TOOL_CALL) + r'\\*"')
"""Also as it looks inside a JSON string, where each quote has a backslash."""
_OBJECT = re.compile(r'\{\s*["}]')
"""How every JSON object begins. A brace before anything else is prose."""
_BLANK_TO_END = re.compile(r"[^\S\n]*(?:\n|\Z)")
_FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is done with a reply. `shown`: the text for the person, "" when there is nothing but blanks. `block`: the
    payload of the one block, still to be judged as a card. `refusal`: why there is no card although the model meant
    one. `audits`: the reasons of the `call/rejected` rows, one row each."""

    shown: str
    block: Mapping[str, Any] | None = None
    refusal: str | None = None
    audits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """Its lines, with its fence: from `start` to `end`. `wrong`: why its JSON is not what everybody reads alike."""

    start: int
    end: int
    envelope: Mapping[str, Any]
    wrong: str | None


@dataclass(frozen=True, slots=True)
class _Segment:
    """Text outside of fences (`info` None), or one fence with its two lines around `body_start` to `body_end`."""

    start: int
    end: int
    body_start: int
    body_end: int
    info: str | None
    closed: bool


def chunk_text(update: Mapping[str, Any]) -> str:
    """What a `session/update` adds to the reply: nothing, unless it is a piece of the agent's message."""
    content = update.get("content")
    if update.get("sessionUpdate") != "agent_message_chunk" or not isinstance(content, Mapping):
        return ""
    text = content.get("text")
    return text if content.get("type") == "text" and isinstance(text, str) else ""


def joined(chunks: Iterable[str]) -> str:
    """The reply from its pieces, in order of arrival. A character that was cut into two halves is one again."""
    text = "".join(chunks)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_reply(text: str, stop_reason: str | None) -> Reply:
    """Judge the whole text of one prompt (C-6). Only `end_turn` says that the model finished what it wrote."""
    blocks, unclosed = _blocks(text)
    if stop_reason != END_TURN and blocks:
        return _refused(text, TRUNCATED)
    marker = _marker_outside(text, blocks)
    if marker is not None:
        cut_off = stop_reason != END_TURN or (unclosed is not None and marker >= unclosed)
        return _refused(text, TRUNCATED if cut_off else NOT_ALONE)
    rest = _without(text, blocks)
    if not blocks:
        return Reply(rest)
    if len(blocks) > 1:
        return _refused(rest, SEVERAL_BLOCKS, len(blocks))
    return _one(rest, blocks[0])


def _one(rest: str, block: _Block) -> Reply:
    if block.wrong is not None:
        return _refused(rest, block.wrong)
    try:
        check_version(block.envelope)
        return Reply(rest, an_object(block.envelope.get("payload"), "payload"))
    except ShapeError as error:
        return _refused(rest, str(error))


def _refused(text: str, reason: str, rows: int = 1) -> Reply:
    return Reply(text if text.strip() else "", None, reason, (reason,) * rows)


def _without(text: str, blocks: list[_Block]) -> str:
    rest = "".join(_pieces(text, blocks))
    return rest if rest.strip() else ""


def _marker_outside(text: str, blocks: list[_Block]) -> int | None:
    """Where the last marker outside of the blocks stands."""
    last, at = None, 0
    for piece, block in zip(_pieces(text, blocks), [*blocks, None], strict=True):
        for found in _MARKER.finditer(piece):
            last = at + found.start()
        at = block.end if block else at
    return last


def _pieces(text: str, blocks: list[_Block]) -> Iterator[str]:
    """The text before, between and after the blocks."""
    at = 0
    for block in blocks:
        yield text[at : block.start]
        at = block.end
    yield text[at:]


def _blocks(text: str) -> tuple[list[_Block], int | None]:
    """The blocks in order, and where the last thing begins that is opened and not closed."""
    blocks: list[_Block] = []
    unclosed = None
    for segment in _segments(text):
        if segment.info is None:
            found, open_at = _bare(text, segment)
            blocks += found
            unclosed = open_at if open_at is not None else unclosed
        elif not segment.closed:
            unclosed = segment.start
        elif segment.info in FENCE_INFOS:
            body = text[segment.body_start : segment.body_end].strip()
            blocks += _block(body, segment.start, segment.end)
    return blocks, unclosed


def _segments(text: str) -> Iterator[_Segment]:
    at = 0
    while (opened := _FENCE.search(text, at)) is not None:
        marks, info = opened["marks"], opened["info"].strip()
        if "`" in info and marks[0] == "`":  # code inside a line, as Markdown has it, is no fence
            yield _Segment(at, opened.end(), at, opened.end(), None, True)
            at = opened.end()
            continue
        yield _Segment(at, opened.start(), at, opened.start(), None, True)
        closing = re.compile(rf"^[ \t]*{re.escape(marks[0])}{{{len(marks)},}}[ \t\r]*$", re.MULTILINE)
        closed = closing.search(text, opened.end())
        body_end = closed.start() if closed else len(text)
        at = _line_end(text, closed.end()) if closed else len(text)
        yield _Segment(opened.start(), at, opened.end(), body_end, info, closed is not None)
    yield _Segment(at, len(text), at, len(text), None, True)


def _bare(text: str, segment: _Segment) -> tuple[list[_Block], int | None]:
    """Walk from object to object, so that nothing inside of one is taken for another."""
    blocks: list[_Block] = []
    at = segment.start
    while (begun := _OBJECT.search(text, at, segment.end)) is not None:
        end = object_end(text, begun.start(), segment.end)
        if end is None:
            return blocks, begun.start()
        before, line_feed, indent = text[at : begun.start()].rpartition("\n")
        begins_line = not indent.strip() and (line_feed != "" or at == segment.start)
        rest_of_line = _BLANK_TO_END.match(text, end, segment.end)
        if begins_line and rest_of_line:
            blocks += _block(text[begun.start() : end], at + len(before + line_feed), rest_of_line.end())
        at = end
    return blocks, None


def _block(content: str, start: int, end: int) -> list[_Block]:
    """One, or none where the object is no block. JSON that only some readers take is a block that is refused."""
    wrong = None
    try:
        value = strict_json(content)
    except ValueError as error:
        wrong = str(error)
        value = _lenient(content)
    if not isinstance(value, dict) or value.get("type") != TOOL_CALL:
        return []
    return [_Block(start, end, value, wrong)]


def _lenient(content: str) -> Any:
    """What a careless reader makes of it; None: nothing."""
    try:
        return None if too_deep(content) else json.loads(content)
    except ValueError:
        return None


def _line_end(text: str, at: int) -> int:
    """One past the line feed of the line in which `at` stands."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1
