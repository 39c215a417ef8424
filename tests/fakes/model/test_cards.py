"""Are the cards of a scripted model blocks as an adapter looks for them, and the insisting ones really forbidden?"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lasttick_fakes.model import Say
from lasttick_fakes.model.cards import INSISTS, TYPE, choice, fenced, inputs, insisting

ACTIONS = (("study", "Learn"), ("work", "Arbeiten – jetzt"))


def payload(block: str) -> dict[str, Any]:
    frame = json.loads(block)
    assert (frame["v"], frame["type"]) == (1, TYPE)
    found: dict[str, Any] = frame["payload"]
    assert sorted(found) == ["call_id", "data", "expires_at", "prompt", "title", "tool"]
    return found


def test_a_block_is_one_line_and_has_what_a_card_has() -> None:
    block = choice("c-1", ACTIONS)
    assert len(block.splitlines()) == 1
    group = payload(block)["data"]["action_group"]
    assert group["mode"] == "single-choice"
    assert group["actions"][1] == {"id": "work", "label": "Arbeiten – jetzt"}
    field = {"id": "name", "label": "Name", "required": False}
    assert payload(inputs("c-2", [field]))["data"] == {"fields": [field]}
    assert fenced("x", "lineup") == "```lineup\nx\n```"


@pytest.mark.parametrize("how", INSISTS)
def test_a_model_insists_on_several_answers_in_every_way(how: str) -> None:
    script = insisting(how, "*", "c-9", ACTIONS)
    (step,) = script.steps
    assert isinstance(step, Say)
    blocks = [payload(found) for found in re.findall(r"{.*}", step.text)]
    assert len(blocks) == (2 if how == "twice" else 1)
    assert {block["data"]["action_group"]["mode"] for block in blocks} == {"multi-choice"}
    assert len({block["call_id"] for block in blocks}) == len(blocks)
    assert any("command" in block["data"]["action_group"] for block in blocks) == (how == "with command")


def test_another_way_of_insisting_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of bare"):
        insisting("politely", "*", "c", ACTIONS)
