"""Is nothing sent twice, and every doubt told, after a crash? LU-10, C-8 row by row."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from lasttick.model.lineup.records import CallState, Source
from lasttick.model.lineup.recovery import Left, Recovery, recover


@pytest.mark.parametrize(
    ("left", "recovery"),
    [
        (Left("permission", "emitted"), "abort"),
        (Left("model", "emitted"), "abort"),
        (Left("permission", "completed"), "may not have reached"),
        (Left("gateway", "completed"), "may not have reached"),
        (Left("model", "completed"), "send result"),
        (Left("model", "completed", prompt_started=True), "not repeated"),
        (Left("permission", "completed", sent=True), "nothing"),
        (Left("model", "completed", prompt_started=True, delivered=True), "nothing"),
        (Left("permission", "expired"), "nothing"),
        (Left("model", "aborted"), "nothing"),
    ],
)
def test_each_row_of_the_contract(left: Left, recovery: Recovery) -> None:
    assert recover(left) == recovery


def test_only_a_models_result_whose_prompt_never_began_is_sent() -> None:
    for source, state in itertools.product(get_args(Source), get_args(CallState)):
        for sent, started, delivered in itertools.product([False, True], repeat=3):
            sends = recover(Left(source, state, sent, started, delivered)) == "send result"
            assert sends == (source == "model" and state == "completed" and not started)
