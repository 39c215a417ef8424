"""Requests that are none: answered in one clear way, and the server stays up. Source: contract gateway, answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick import World, scenario

from .steps_doors import Door, open_door, refused

MIB = 1024 * 1024


def _bodies() -> dict[str, bytes]:
    deep = b'{"orgId":"org-a","input":' + b"[" * 80 + b"]" * 80 + b"}"
    return {
        "empty": b"",
        "not JSON": b"{orgId: org-a}",
        "not UTF-8": b'{"orgId": "\xff"}',
        "a list": b'[{"orgId": "org-a"}]',
        "a text": b'"org-a"',
        "null": b"null",
        "deeper than 64": deep,
        "NaN": b'{"orgId": NaN}',
        "a number beyond any float": b'{"orgId": "org-a", "input": {"total": 1e999}}',
    }


@scenario("GW-02", "GW-03")
@pytest.mark.parametrize("what", list(_bodies()))
async def test_a_body_that_is_none_is_judged_only_behind_a_door(world: World, what: str) -> None:
    """Not JSON, not an object, nested too deep, or with a number that JSON could not say again: 401 to a stranger, also
    one with the secret, and 400 to a runner."""
    door = await open_door(world)
    content = _bodies()[what]
    json_type = ("content-type", "application/json")
    assert refused(await door.knock([json_type, ("x-agent-secret", door.secret)], content))
    runner = await door.knock([json_type, *door.bearer().items()], content)
    assert refused(runner, 400), runner.body
    assert await door.rows() == []
    await _still_up(door)


@scenario("GW-03")
@pytest.mark.parametrize("extra", [0, 1])
async def test_a_body_over_a_mebibyte_is_too_large(world: World, extra: int) -> None:
    """One byte over 1 MiB is 413; a body of exactly that size is judged like any other."""
    door = await open_door(world)
    body = json.dumps(door.body(padding="")).encode()
    body = json.dumps(door.body(padding="x" * (MIB - len(body) + extra))).encode()
    assert len(body) == MIB + extra
    answer = await door.knock([("content-type", "application/json"), *door.bearer().items()], body)
    assert (answer.http_status == 413) == (extra == 1), answer.body
    await _still_up(door)


@scenario("GW-03")
@pytest.mark.parametrize(
    "parts",
    [
        {"runId": 7},
        {"runId": None},
        {"toolName": ["order_lookup"]},
        {"action": {}},
        {"input": "A-1"},
        {"input": [1]},
    ],
)
async def test_a_call_of_the_wrong_shape_is_400_and_leaves_no_row(world: World, parts: dict[str, Any]) -> None:
    """A field of another type: one clear answer that names it."""
    door = await open_door(world)
    answer = await door.knock(door.bearer(), door.body(**parts))
    assert refused(answer, 400), answer.body
    assert next(iter(parts)) in answer.body["message"]
    assert await door.rows() == []
    await _still_up(door)


async def _still_up(door: Door) -> None:
    answer = await door.knock({"x-agent-secret": door.secret})
    assert answer.ok, answer.body
    await door.run.end()
