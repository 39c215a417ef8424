"""Goals become steps, and a sentence without a plan says which one."""

from __future__ import annotations

import pytest

from lasttick.model.goal import GoalError, Open, Tap, Type, plan


def test_a_plan_keeps_the_order_of_its_sentences() -> None:
    assert plan("open Notes then tap New note then type buy milk") == (Open("Notes"), Tap("New note"), Type("buy milk"))


def test_one_sentence_is_a_plan() -> None:
    assert plan("tap Settings") == (Tap("Settings"),)


def test_then_inside_a_word_does_not_join() -> None:
    assert plan("tap Athens") == (Tap("Athens"),)


@pytest.mark.parametrize("goal", ["", "tap", "tap  ", "swipe left", "tap A then ", "Tap A", "tap A then swipe B"])
def test_a_sentence_without_a_plan_is_named(goal: str) -> None:
    with pytest.raises(GoalError, match=r"expected `tap LABEL`"):
        plan(goal)
