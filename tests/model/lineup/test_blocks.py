"""Does a reply bring a card exactly when one block stands alone in it, however it was cut into pieces? LU-05, LU-19."""

from __future__ import annotations

import codecs
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.lineup.blocks import NOT_ALONE, SEVERAL_BLOCKS, TRUNCATED, Reply, chunk_text, joined, read_reply
from lasttick.model.lineup.cards import model_card
from lasttick.model.lineup.records import Card, Inventory, Refused

PAYLOAD: dict[str, Any] = {
    "call_id": "c1",
    "tool": "choice",
    "title": '其他 "}{" 😀',
    "prompt": 'not a marker here: "type": "lineup.v1.tool.call"',
    "expires_at": "2026-08-07T05:15:00Z",
    "data": {"action_group": {"mode": "single-choice", "actions": [{"id": "other", "label": "其他"}]}},
}
ENVELOPE = {"v": 1, "type": "lineup.v1.tool.call", "payload": PAYLOAD}
BARE = json.dumps(ENVELOPE, ensure_ascii=False)
LONG = json.dumps(ENVELOPE, ensure_ascii=False, indent=2)
WALL = datetime(2026, 8, 7, 5, 0, tzinfo=UTC)


def fenced(block: str, info: str = "json", marks: str = "```") -> str:
    return f"{marks}{info}\n{block}\n{marks}\n"


def refused(text: str, reason: str, rows: int = 1) -> Reply:
    return Reply(text, None, reason, (reason,) * rows)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_blanks_are_nothing_to_show(text: str) -> None:
    assert read_reply(text, "end_turn") == Reply("")


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "\n\nafter a tool {not json}\n{",
        '{"type": "lineup.v1.tool.result"}',
        '{"a": [1, {"b": "}"}]}',
        "```json\n{}\n```",
        "```python\n{",
        'lineup.v1.tool.call is a "type"',
        '{"type": "lineup.v1.tool.ca',
        '"type": "lineup.v1.tool.calls"',
        '{"\\u0074ype": "lineup.v1.tool.call", "a": 1,}',
    ],
)
@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", None])
def test_text_without_a_block_or_a_marker_is_shown_as_it_is(text: str, stop: str | None) -> None:
    assert read_reply(text, stop) == Reply(text)


@pytest.mark.parametrize(
    "block",
    [
        BARE,
        BARE + "\n",
        "  " + BARE + "  \r\n",
        LONG,
        LONG + "\n",
        json.dumps(ENVELOPE, indent="\t") + "\n",
        BARE.replace("lineup.v1.tool.call", "lineup\\u002ev1.tool.call", 1),
        fenced(BARE),
        fenced(LONG),
        fenced(LONG).removesuffix("\n"),
        fenced(BARE, ""),
        fenced(BARE, "lineup"),
        fenced(BARE, " json "),
        fenced("\n" + LONG + "\n\n"),
        fenced(BARE, "json", "~~~"),
        fenced(BARE, "json", "````"),
        "  ```json\n  " + BARE + "\n  ```\n",
        "```json\r\n" + BARE + "\r\n```\r\n",
    ],
)
def test_one_block_alone_on_its_lines_is_cut_out(block: str) -> None:
    assert read_reply(block, "end_turn") == Reply("", PAYLOAD)
    before, after = "Please choose:\n\n", "And then?\n{not json}\n```python\n{}\n```"
    glue = "" if block.endswith("\n") else "\n"
    assert read_reply(before + block, "end_turn") == Reply(before, PAYLOAD)
    assert read_reply(before + block + glue + after, "end_turn") == Reply(before + after, PAYLOAD)


def test_code_inside_a_line_is_no_fence() -> None:
    assert read_reply("```ls```\n" + BARE, "end_turn") == Reply("```ls```\n", PAYLOAD)


@pytest.mark.parametrize("text", [BARE, LONG, "see:\n" + fenced(BARE)])
@pytest.mark.parametrize("stop", ["max_tokens", "cancelled", "refusal", "", None])
def test_a_block_of_a_reply_that_did_not_end_by_itself_makes_no_card(text: str, stop: str | None) -> None:
    assert read_reply(text, stop) == refused(text, TRUNCATED)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (json.dumps({**ENVELOPE, "v": 2}), "v: 2; expected 1"),
        (json.dumps({**ENVELOPE, "v": True}), "v: true; expected 1"),
        (json.dumps({"type": "lineup.v1.tool.call"}), "v: null; expected 1"),
        (json.dumps({**ENVELOPE, "payload": [1]}), "payload: [1] is no object"),
        (BARE.replace('"v": 1', '"v": 1, "v": 1'), 'repeated key "v"'),
        (BARE.replace('"v": 1', '"v": NaN'), "NaN is no JSON number"),
        (BARE.replace('"v": 1', '"v": 1, "w": "\\udc00"'), "a string with half of a surrogate pair is no text"),
    ],
)
def test_one_block_that_is_not_valid_is_cut_out_and_refused_with_its_reason(block: str, reason: str) -> None:
    assert read_reply(f"a\n{block}\nb", "end_turn") == refused("a\nb", reason)
    assert read_reply(fenced(block), "end_turn") == refused("", reason)


@pytest.mark.parametrize("parts", [(BARE, BARE), (fenced(LONG), BARE), (fenced(BARE), fenced(BARE, ""), LONG)])
def test_several_blocks_make_no_card_and_one_audit_row_each(parts: tuple[str, ...]) -> None:
    text = "a\n" + "\nb\n".join(parts)
    reply = read_reply(text, "end_turn")
    assert (reply.block, reply.refusal, reply.audits) == (None, SEVERAL_BLOCKS, (SEVERAL_BLOCKS,) * len(parts))
    assert "lineup" not in reply.shown
    assert reply.shown.startswith("a\n")


@pytest.mark.parametrize(
    "text",
    [
        "Send " + BARE,
        BARE + " please",
        f"{BARE} {BARE}",
        '{"a": 1} ' + BARE,
        f"{BARE},\n{BARE}",
        "> " + BARE,
        "- " + BARE,
        fenced(BARE, "python"),
        fenced(BARE, "JSON"),
        fenced(BARE + "\n" + BARE),
        fenced("// a comment\n" + BARE),
        fenced(fenced(BARE).removesuffix("\n"), "markdown", "````"),
        json.dumps({"example": ENVELOPE}, indent=1),
        '{"example":\n' + BARE + "\n}",
        'Here: {"example":\n' + LONG + "\n}",
        json.dumps({"example": BARE}),
        json.dumps({"example": json.dumps(BARE)}),
        json.dumps(BARE),
        f"'{BARE}'",
        f"`{BARE}`",
        '{"type" :\n "lineup.v1.tool.call",}',
        BARE.replace('"v": 1', '"v": ' + "[" * 40 + "]" * 40),
        'the member "type":"lineup.v1.tool.call" means a card',
        fenced(BARE) + 'and "type": "lineup.v1.tool.call" again',
        f"{BARE}\n{BARE}\n" + 'and "type": "lineup.v1.tool.call" again',
    ],
)
def test_a_block_in_anything_else_makes_no_card_and_hides_nothing(text: str) -> None:
    assert read_reply(text, "end_turn") == refused(text, NOT_ALONE)
    assert read_reply(text, "max_tokens") == refused(text, TRUNCATED)


CUT_OFF = [
    BARE[:-1],
    LONG[:-3],
    "```json\n" + BARE,
    "```json\n" + BARE + "\n``",
    "````json\n" + BARE + "\n```",
    '{"a":\n' + BARE,
]


@pytest.mark.parametrize("text", CUT_OFF)
def test_a_block_that_is_cut_off_makes_no_card(text: str) -> None:
    assert read_reply(text, "end_turn") == refused(text, TRUNCATED)


@pytest.mark.parametrize("reply", [BARE, "a\n" + LONG, "见\n" + fenced(LONG)])
def test_no_beginning_of_a_reply_brings_a_card_before_the_block_is_whole(reply: str) -> None:
    whole = reply.rstrip("\n")
    for end in range(len(whole)):
        found = read_reply(whole[:end], "end_turn")
        assert found.block is None
        assert found.shown in (whole[:end], "")
        marked = '"type": "lineup.v1.tool.call"' in whole[:end]
        assert found.refusal == (TRUNCATED if marked else None)
    assert read_reply(whole, "end_turn").block == PAYLOAD


REPLIES = [
    "",
    "plain 见 😀",
    BARE,
    "a\r\n" + fenced(LONG) + "😀",
    f"{BARE}\n{BARE}",
    "😀 " + BARE,
    BARE[:-1],
    fenced(json.dumps({**ENVELOPE, "v": 2})),
]


@pytest.mark.parametrize("text", REPLIES)
def test_a_reply_reads_the_same_cut_at_every_byte(text: str) -> None:
    whole, data = read_reply(text, "end_turn"), text.encode()
    for at in range(len(data) + 1):
        decoder = codecs.getincrementaldecoder("utf-8")()
        chunks = [decoder.decode(data[:at]), decoder.decode(data[at:], final=True)]
        assert read_reply(joined(chunks), "end_turn") == whole
    assert read_reply(joined(list(text)), "end_turn") == whole


@pytest.mark.parametrize("text", REPLIES)
def test_a_reply_reads_the_same_cut_between_the_halves_of_a_character(text: str) -> None:
    data = text.encode("utf-16-le")
    units = [data[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(data), 2)]
    assert read_reply(joined(units), "end_turn") == read_reply(text, "end_turn")


def test_half_of_a_character_that_stays_alone_can_still_be_sent() -> None:
    assert joined(["a\ud83d", "b", "\ude00"]) == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"


PROSE = st.text(st.characters(exclude_characters='{}"`~', exclude_categories=["Cs"]), max_size=20)


@given(st.lists(PROSE, max_size=4), st.data())
def test_where_the_block_stands_among_prose_does_not_matter(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines)))
    block = data.draw(st.sampled_from([BARE + "\n", LONG + "\n", fenced(LONG), fenced(BARE, "lineup", "~~~~")]))
    before, after = "".join(line + "\n" for line in lines[:at]), "\n".join(lines[at:])
    rest = before + after
    assert read_reply(before + block + after, "end_turn") == Reply(rest if rest.strip() else "", PAYLOAD)


WHOLE = [BARE, LONG, f"\n{BARE}\n", '"type"', '"lineup.v1.tool.call"', '"type":"lineup.v1.tool.call"', '{"a":']
FRAGMENTS = st.sampled_from([*WHOLE, *'{}"\n\\ :[],x\ud83d', '{"', "```", "```json\n", "~~~"])


@given(st.lists(FRAGMENTS, max_size=12).map("".join), st.sampled_from(["end_turn", "max_tokens"]))
def test_whatever_the_pieces_a_reply_is_shown_whole_or_explained(text: str, stop: str) -> None:
    reply = read_reply(text, stop)
    assert (reply.refusal is None) == (not reply.audits)
    assert reply.block is None or reply.refusal is None
    if reply.block is not None:
        assert (reply.block, stop) == (PAYLOAD, "end_turn")
        assert text.count(BARE) + text.count(LONG) == 1
    if reply.refusal in (TRUNCATED, NOT_ALONE) or (reply.block is None and reply.refusal is None):
        assert reply.shown == (text if text.strip() else "")


@pytest.mark.parametrize("extra", [{}, {"command": "rm -rf /"}])
@pytest.mark.parametrize("wrap", ["%s", "```json\n%s\n```", "Here it is:\n%s", "```\n%s\n```\n", "TWICE"])
def test_a_model_that_insists_on_several_choices_gets_no_card(wrap: str, extra: dict[str, Any]) -> None:
    actions = [{"id": id_, "label": id_, **extra} for id_ in ("focus", "rest", "study")]
    data = {"action_group": {"mode": "multi-choice", "actions": actions}}
    block = json.dumps({**ENVELOPE, "payload": {**PAYLOAD, "data": data}})
    reply = read_reply(f"{block}\n\n{block}" if wrap == "TWICE" else wrap % block, "end_turn")
    if reply.block is None:
        assert reply.refusal == SEVERAL_BLOCKS
    else:
        assert model_card(reply.block, Inventory(), WALL) == Refused("multi-choice not supported")


def test_the_block_of_these_tests_is_a_card() -> None:
    assert isinstance(model_card(PAYLOAD, Inventory(), WALL), Card)


@pytest.mark.parametrize(
    ("update", "text"),
    [
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}, "x"),
        ({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "x"}}, ""),
        ({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "x"}}, ""),
        ({"sessionUpdate": "tool_call_update", "content": [{"type": "content"}]}, ""),
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "text": "x"}}, ""),
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 7}}, ""),
        ({"sessionUpdate": "agent_message_chunk"}, ""),
        ({}, ""),
    ],
)
def test_only_the_agents_message_is_the_reply(update: dict[str, Any], text: str) -> None:
    assert chunk_text(update) == text


@pytest.mark.parametrize(
    "unit", ["{", '{"', "{}", "[", '"', "\\", '"type', "```\n", "~~~x\n", '{"a":1}\n', " ", '{"type": ']
)
def test_a_long_reply_takes_one_pass(unit: str) -> None:
    began = time.thread_time()
    read_reply(unit * (400_000 // len(unit)), "end_turn")
    assert time.thread_time() - began < 5, "a pass over 400 kB takes well under a second; a square of it takes minutes"
