"""Bodies in, answers out: every boundary of the contract's table."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.http_json import BODY_MAX, DRAIN_MAX, ClientGone, Refused


def nested(depth: int, kind: str = "list") -> bytes:
    """A JSON object that is `depth` deep."""
    if kind == "object":
        return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"true",
        b"7",
        b'"text"',
        b"[]",
        b'[{"orgId": "org-a"}]',
        b"{",
        b'{"a": 1,}',
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": [{"b": -1.0E+400}]}',
        b'{"a": 1} {"b": 2}',
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\x00"}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b"[" * 500_000,
        b'{"a":' * 100_000,
        b"orgId=org-a",
    ],
    ids=range(25),
)
def test_no_object(body: bytes) -> None:
    assert http_json.parse_object(body) is None


@pytest.mark.parametrize(
    "body", [b"{}", b' \n{"a": [1, {"b": null}]} ', b'{"a": [1.7e308, 1e-999]}', '{"ü": "\\ud800"}'.encode()]
)
def test_objects(body: bytes) -> None:
    assert http_json.parse_object(body) == json.loads(body)


@pytest.mark.parametrize("kind", ["list", "object"])
def test_64_deep_and_no_deeper(kind: str) -> None:
    assert http_json.parse_object(nested(64, kind)) is not None
    assert http_json.parse_object(nested(65, kind)) is None
    assert http_json.parse_object(nested(900, kind)) is None


def test_many_brackets_are_not_deep() -> None:
    assert http_json.parse_object(json.dumps({"a": [[] for _ in range(500)], "b": "[" * 500}).encode()) is not None


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(body: bytes) -> None:
    assert isinstance(http_json.parse_object(body), dict | None)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?", fullmatch=True))
def test_what_is_read_can_be_written_again(number: str) -> None:
    value = http_json.parse_object(b'{"a": %b}' % number.encode())
    assert (value is None) is math.isinf(float(number))
    if value is not None:
        assert json.loads(bytes(http_json.json_answer(200, value).body)) == value


@given(st.recursive(st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=40))
def test_depth_is_depth(value: Any) -> None:
    def depth(of: Any) -> int:
        inside = of.values() if isinstance(of, dict) else of if isinstance(of, list) else None
        return 0 if inside is None else 1 + max(map(depth, inside), default=0)

    body = json.dumps(value).encode()
    for limit in range(5):
        assert http_json.deeper_than(limit, value, body) is (depth(value) > limit)


def read(messages: list[Any], delay_s: float = 0.0) -> bytes:
    async def main(loop: VirtualLoop) -> bytes:
        pending = list(messages)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(delay_s)
            chunk = pending.pop(0)
            if chunk is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": chunk, "more_body": bool(pending)}

        return await http_json.read_body(receive)

    return run_virtual(main)


def test_the_longest_body() -> None:
    assert BODY_MAX == 1_048_576
    assert len(read([b"x" * BODY_MAX])) == BODY_MAX
    assert read([b"a", b"", b"bc"]) == b"abc"
    assert read([b""]) == b""


@pytest.mark.parametrize(
    "chunks",
    [[b"x" * (BODY_MAX + 1)], [b"x" * BODY_MAX, b"y"], [b"x" * 65_536] * 100],
)
def test_one_byte_more_is_413(chunks: list[bytes]) -> None:
    with pytest.raises(Refused) as refused:
        read(chunks)
    assert refused.value.refusal.status == 413


def test_an_endless_body_is_not_taken_in_for_ever() -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += BODY_MAX
        return {"type": "http.request", "body": b"x" * BODY_MAX, "more_body": taken < 4 * DRAIN_MAX}

    async def main(loop: VirtualLoop) -> None:
        await http_json.read_body(receive)

    with pytest.raises(Refused) as refused:
        run_virtual(main)
    assert refused.value.refusal.status == 413
    assert taken == DRAIN_MAX + BODY_MAX


def test_a_client_that_leaves() -> None:
    with pytest.raises(ClientGone):
        read([b"half", None])


def test_a_body_that_drips_is_408() -> None:
    assert read([b"x"] * 29, delay_s=1.0) == b"x" * 29
    with pytest.raises(Refused) as refused:
        read([b"x"] * 100, delay_s=1.0)
    assert refused.value.refusal.status == 408


def test_answers_are_ascii_whatever_is_in_them() -> None:
    answer = http_json.json_answer(200, {"a": "\ud800 ü \x00"})
    assert answer.body == b'{"a":"\\ud800 \\u00fc \\u0000"}'
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([b"Bearer abc"], "abc"),
        ([b"bearer  abc "], "abc"),
        ([b"Basic abc"], None),
        ([b"Bearer"], None),
        ([b"Bearer "], None),
        ([b"abc"], None),
        ([b""], None),
        ([], None),
        ([b"Bearer abc", b"Bearer abc"], None),
        ([b"Bearer ab\xff"], None),
    ],
)
def test_bearer(values: list[bytes], expected: str | None) -> None:
    headers = [(b"host", b"x"), *((b"authorization", value) for value in values)]
    assert http_json.bearer(headers) == expected
    assert http_json.bearer([(name.upper(), value) for name, value in headers]) == expected
