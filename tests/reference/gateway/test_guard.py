"""GW-01, GW-02 and the contract's table of bad requests, at the two doors."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response as Answer

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.trust import Admitted, Claims
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.guard import RunnerTokenGuard
from lasttick.reference.gateway.jwt_door import JwtDoor
from lasttick.reference.gateway.secret import AgentSecret

from .platform_rig import JWT_KEY, SECRET, Response, send
from .test_http_json import nested
from .test_jwt_door import GOOD, signed

GOOD_JWT = f"Bearer {signed(GOOD, key=JWT_KEY)}".encode()
INTERNAL = Admitted("internal", Claims("internal-agent:org-a", "org-a", "runner", "runner"))
RUNNER = Admitted("runner", Claims("runner-7", "org-a", "runner", "runner"))
MINE = b'{"orgId": "org-a", "more": 1}'


def ask(
    *,
    secret: list[bytes] | None = None,
    bearer: list[bytes] | None = None,
    body: bytes = MINE,
    configured: str = SECRET,
) -> tuple[Response, Admitted | None, Any]:
    """What the guard answers, whom it admitted, and the body it handed on."""
    seen: list[tuple[Admitted, dict[str, Any]]] = []

    async def inner(admitted: Admitted, parsed: dict[str, Any]) -> Answer:
        seen.append((admitted, parsed))
        return http_json.json_answer(200, {})

    async def main(loop: VirtualLoop) -> Response:
        guard = RunnerTokenGuard(
            inner, secret=AgentSecret.configured(configured), jwt_door=JwtDoor(JWT_KEY, VirtualClock(loop))
        )
        headers = [(b"host", b"x")]
        headers += [(b"X-Agent-SECRET", value) for value in secret or []]
        headers += [(b"authorization", value) for value in bearer or []]
        return await send(guard, "POST", "/v1/runtime/tools/execute", headers, [body])

    answer = run_virtual(main)
    assert (answer.status == 200) is bool(seen)
    return answer, *(seen[0] if seen else (None, None))


def test_internal_door() -> None:
    answer, admitted, body = ask(secret=[SECRET.encode()])
    assert (answer.status, admitted, body) == (200, INTERNAL, {"orgId": "org-a", "more": 1})
    assert admitted is not None
    assert admitted.user == {"platformRole": "runner", "orgMemberships": [{"orgId": "org-a"}]}


def test_runner_door() -> None:
    assert ask(bearer=[GOOD_JWT])[1] == RUNNER


def test_the_secret_as_bearer_opens_nothing() -> None:
    """Ruling 1: the internal door reads X-Agent-Secret alone."""
    assert ask(bearer=[b"Bearer " + SECRET.encode()])[0].status == 401


@pytest.mark.parametrize(
    "secret",
    [
        None,
        [b"wrong"],
        [b""],
        [b"  "],
        [SECRET.encode()[:-1]],
        [SECRET.encode() + b"x"],
        [SECRET.upper().encode()],
        [SECRET.encode(), SECRET.encode()],
        [SECRET.encode(), b"wrong"],
        [b"wrong", SECRET.encode()],
        [SECRET.encode() + b"\xff"],
        [b"\xff\xfe\x00"],
        [b"x" * 60_000],
    ],
    ids=range(13),
)
def test_a_closed_internal_door_falls_through(secret: list[bytes] | None) -> None:
    assert ask(secret=secret)[0].status == 401
    assert ask(secret=secret, bearer=[GOOD_JWT])[1] == RUNNER
    assert ask(secret=secret, bearer=[b"Bearer garbage"])[0].status == 401


@pytest.mark.parametrize("bearer", [None, [b"Bearer garbage"], [b""], [GOOD_JWT, GOOD_JWT], [b"\xff"], [GOOD_JWT]])
def test_a_good_secret_needs_no_bearer(bearer: list[bytes] | None) -> None:
    assert ask(secret=[SECRET.encode()], bearer=bearer)[1] == INTERNAL


@pytest.mark.parametrize("org_id", [None, "", " ", "\t\n", 7, True, ["org-a"], {"id": "org-a"}, 1.5, "\ud800"])
def test_org_id_of_any_type(org_id: Any) -> None:
    body = json.dumps({"orgId": org_id}).encode()
    assert ask(secret=[SECRET.encode()], body=body)[0].status == 401
    assert ask(secret=[SECRET.encode()], bearer=[GOOD_JWT], body=body)[1] == RUNNER


def test_org_id_is_used_unstripped() -> None:
    admitted = ask(secret=[SECRET.encode()], body=b'{"orgId": " org-a "}')[1]
    assert admitted is not None
    assert (admitted.claims.org_id, admitted.claims.sub) == (" org-a ", "internal-agent: org-a ")


@pytest.mark.parametrize("secret", [[b""], [b" "], [], [b"x"]])
def test_an_empty_configured_secret_closes_the_internal_door(secret: list[bytes]) -> None:
    """Ruling 6."""
    assert ask(secret=secret, configured="")[0].status == 401
    assert ask(secret=secret, configured="", bearer=[GOOD_JWT])[1] == RUNNER


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b'"orgId"',
        b"7",
        b"null",
        nested(65),
        b"[" * 300_000,
        b"\xff",
        b'{"orgId": NaN}',
        b'{"orgId": 1e999}',
    ],
    ids=range(11),
)
def test_a_bad_body_is_401_to_a_stranger_and_400_to_a_runner(body: bytes) -> None:
    assert ask(body=body)[0].status == 401
    assert ask(body=body, secret=[SECRET.encode()])[0].status == 401
    assert ask(body=body, bearer=[b"Bearer garbage"])[0].status == 401
    answer = ask(body=body, bearer=[GOOD_JWT])[0]
    assert (answer.status, answer.code) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("bearer", [None, [GOOD_JWT]])
def test_over_1_mib_is_413_to_everybody(bearer: list[bytes] | None) -> None:
    longest = b'{"orgId": "org-a", "x": "' + b"x" * (http_json.BODY_MAX - 27) + b'"}'
    assert len(longest) == http_json.BODY_MAX
    assert ask(body=longest, secret=[SECRET.encode()])[1] == INTERNAL
    assert ask(body=longest + b" ", secret=[SECRET.encode()], bearer=bearer)[0].status == 413


def test_the_refusal_says_nothing_of_the_reason() -> None:
    answers = [
        ask()[0],
        ask(secret=[b"wrong"])[0],
        ask(bearer=[b"Bearer garbage"])[0],
        ask(secret=[SECRET.encode()], body=b"[]")[0],
        ask(configured="")[0],
    ]
    assert {str(answer.whole) for answer in answers} == {str(answers[0].whole)}
    assert answers[0].code == "UNAUTHENTICATED"
    assert ("www-authenticate", "Bearer") in answers[0].headers


def test_it_logs_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ask(secret=[SECRET.encode()], bearer=[GOOD_JWT])
    ask(secret=[SECRET.encode() + b"x"])
    assert SECRET not in caplog.text
    assert GOOD_JWT.decode() not in caplog.text


def test_a_client_that_left_gets_no_answer() -> None:
    async def body() -> None:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def collect(message: Any) -> None:
            sent.append(message)

        async def inner(admitted: Admitted, parsed: dict[str, Any]) -> Answer:
            raise AssertionError("nobody was admitted")

        guard = RunnerTokenGuard(inner, secret=None, jwt_door=JwtDoor(None, None))  # type: ignore[arg-type]
        await guard({"type": "http", "headers": []}, receive, collect)
        assert sent == []

    asyncio.run(body())


@given(
    secret=st.lists(st.binary(max_size=30) | st.just(SECRET.encode()), max_size=3),
    bearer=st.lists(st.binary(max_size=30) | st.just(GOOD_JWT), max_size=2),
    body=st.binary(max_size=30) | st.just(MINE),
)
def test_the_doors_are_a_table(secret: list[bytes], bearer: list[bytes], body: bytes) -> None:
    answer, admitted, _ = ask(secret=secret, bearer=bearer, body=body)
    if secret == [SECRET.encode()] and body == MINE:
        assert admitted == INTERNAL
    elif bearer == [GOOD_JWT]:
        assert (answer.status, admitted) == ((200, RUNNER) if http_json.parse_object(body) is not None else (400, None))
    else:
        assert answer.status == 401
