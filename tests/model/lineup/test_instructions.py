"""Is the agent told a card format that the adapter takes, and is a user's text never mixed with ours?"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick.model.lineup.blocks import read_reply
from lasttick.model.lineup.cards import model_card
from lasttick.model.lineup.frames import ResultFrame, read_frame
from lasttick.model.lineup.instructions import (
    closed_notice,
    instructions,
    prompt_texts,
    refusal_message,
    refusal_notice,
    result_prompt,
)
from lasttick.model.lineup.records import Card, Inventory, Result, Tool

PUBLISHED = Inventory("r7", {"pomodoro.start": Tool("pomodoro.start", {"minutes": ("number", True)})})


def test_the_examples_are_cards() -> None:
    lines = [line for line in instructions(Inventory()).splitlines() if line.startswith("{")]
    tools = []
    for line in lines:
        reply = read_reply(line, "end_turn")
        assert reply.block is not None
        card = model_card(reply.block, Inventory(), datetime(2026, 1, 1, tzinfo=UTC))
        assert isinstance(card, Card)
        tools.append(card.tool)
    assert tools == ["choice", "input"]


def test_no_example_offers_several_choices() -> None:
    text = instructions(PUBLISHED)
    assert '"mode": "multi-choice"' not in text
    assert "multi-choice is not supported" in text


def test_the_inventory_and_its_revision_are_told() -> None:
    assert "Inventory revision: none\nInventory: []" in instructions(Inventory())
    tools = '[{"tool": "pomodoro.start", "arguments": {"minutes": {"type": "number", "required": true}}}]'
    assert f"Inventory revision: r7\nInventory: {tools}" in instructions(PUBLISHED)


@given(st.text(min_size=1), st.lists(st.text(), max_size=3))
@example("/help", ["ours"])
def test_a_users_text_is_its_own_block_and_a_command_is_alone(text: str, front: list[str]) -> None:
    texts = prompt_texts(text, front)
    assert texts[-1] == text
    assert texts[:-1] == ([] if text.startswith("/") else front)


@pytest.mark.parametrize(
    "result", [Result("completed", {"action_ids": ["其他"]}), Result("cancelled", None)], ids=lambda r: r.status
)
def test_a_result_prompt_is_the_result_in_its_one_form(result: Result) -> None:
    text = result_prompt("c", result)
    payload: dict[str, Any] = {"call_id": "c", "status": result.status, "result": result.result}
    assert json.loads(text) == {"v": 1, "type": "lineup.v1.tool.result", "payload": payload}
    assert read_frame(text.encode()) == ResultFrame("default", "c", payload)
    assert "\n" not in text


def test_notices_say_what_happened() -> None:
    assert "c7 is expired" in closed_notice("c7", "expired")
    for text in (refusal_notice("several blocks"), refusal_message("several blocks")):
        assert "several blocks" in text
        assert " text" in text
