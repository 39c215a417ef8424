"""One request with the right credentials, to the right origin; and whatever comes back, a result or a code in time."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.gateway.tool_gateway_client import ANSWER_BYTES_MAX, CALL_S, ToolFailed, ToolGatewayClient

SECRET = "agent-secret-AbCdEf-0123456789"
ENVIRON = {
    "PLATFORM_API_URL": "http://platform.test:8000/",
    "HUMANWORK_ORG_ID": "org-a",
    "HUMANWORK_RUN_ID": "run-1",
    "AGENT_SERVICE_SECRET": SECRET,
}
OK = {"ok": True, "result": {"order": "A-1"}}


class Gateway(httpx.AsyncBaseTransport):
    """Notes each request; `answer` makes the answer, or raises."""

    def __init__(self, answer: Callable[[httpx.Request], Any] = lambda request: httpx.Response(200, json=OK)) -> None:
        self.answer = answer
        self.asked: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answer(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        assert isinstance(answer, httpx.Response)
        return answer


def call(gateway: Gateway, environ: dict[str, str] = ENVIRON, arguments: Any = None) -> tuple[Any, float]:
    """What one call gives, result or ToolFailed, and after how many seconds."""

    async def main(loop: VirtualLoop) -> tuple[Any, float]:
        client = ToolGatewayClient(environ, transport=gateway)
        try:
            given: Any = await client.execute("order_lookup", "lookup", arguments or {})
        except ToolFailed as failed:
            given = failed
        now = loop.time()
        await client.aclose()
        return given, now

    return run_virtual(main)


def failed(gateway: Gateway, environ: dict[str, str] = ENVIRON, arguments: Any = None) -> ToolFailed:
    given, _ = call(gateway, environ, arguments)
    assert isinstance(given, ToolFailed)
    shown = "".join(traceback.format_exception(given)) + repr(given.args)
    assert not any(SECRET in part for part in (shown, given.code, given.message))
    return given


def test_one_request_in_the_gateways_words() -> None:
    gateway = Gateway()
    assert call(gateway, arguments={"order_id": "A-1", "note": "é\ud800"}) == ({"order": "A-1"}, 0.0)
    [request] = gateway.asked
    assert (request.method, str(request.url)) == ("POST", "http://platform.test:8000/v1/runtime/tools/execute")
    assert json.loads(request.content) == {
        "orgId": "org-a",
        "runId": "run-1",
        "toolName": "order_lookup",
        "action": "lookup",
        "input": {"order_id": "A-1", "note": "é\ud800"},
    }
    assert request.headers["content-type"] == "application/json"


def credentials_sent(**environ: str) -> dict[str, list[str]]:
    gateway = Gateway()
    base = {name: value for name, value in ENVIRON.items() if name != "AGENT_SERVICE_SECRET"}
    call(gateway, {**base, **environ})
    [request] = gateway.asked
    return {name: request.headers.get_list(name) for name in ("x-agent-secret", "authorization")}


def test_the_secret_goes_into_both_headers() -> None:
    for more in ({}, {"HUMANWORK_RUNNER_TOKEN": "t"}):
        sent = credentials_sent(AGENT_SERVICE_SECRET=SECRET, **more)
        assert sent == {"x-agent-secret": [SECRET], "authorization": [f"Bearer {SECRET}"]}


@pytest.mark.parametrize(
    "no_secret", [{}, {"AGENT_SERVICE_SECRET": ""}, {"AGENT_SERVICE_SECRET": "${AGENT_SERVICE_SECRET}"}]
)
def test_without_the_secret_there_is_a_bearer_only(no_secret: dict[str, str]) -> None:
    sent = credentials_sent(PLATFORM_API_TOKEN="p", HUMANWORK_MODEL_GATEWAY_TOKEN="m", **no_secret)
    assert sent == {"x-agent-secret": [], "authorization": ["Bearer p"]}


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"AGENT_SERVICE_SECRET": ""}, "CREDENTIAL_NOT_CONFIGURED"),
        ({"AGENT_SERVICE_SECRET": "${AGENT_SERVICE_SECRET}"}, "CREDENTIAL_NOT_CONFIGURED"),
        ({"AGENT_SERVICE_SECRET": f"{SECRET}\n"}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": f"{SECRET}\r\nx-org: b"}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": f" {SECRET}"}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": f"{SECRET}\u00e9"}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": f"{SECRET}\udcff"}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": f"{SECRET}\x00"}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": " "}, "CREDENTIAL_UNUSABLE"),
        ({"AGENT_SERVICE_SECRET": "", "HUMANWORK_RUNNER_TOKEN": f"{SECRET}\n"}, "CREDENTIAL_UNUSABLE"),
        ({"PLATFORM_API_URL": ""}, "GATEWAY_NOT_CONFIGURED"),
        ({"PLATFORM_API_URL": "${PLATFORM_API_URL}"}, "GATEWAY_NOT_CONFIGURED"),
        ({"PLATFORM_API_URL": "platform.test"}, "GATEWAY_NOT_CONFIGURED"),
        ({"PLATFORM_API_URL": "file:///etc/passwd"}, "GATEWAY_NOT_CONFIGURED"),
        ({"PLATFORM_API_URL": "http://[::1"}, "GATEWAY_NOT_CONFIGURED"),
        ({"HUMANWORK_ORG_ID": "${HUMANWORK_ORG_ID}"}, "RUN_NOT_CONFIGURED"),
        ({"HUMANWORK_RUN_ID": ""}, "RUN_NOT_CONFIGURED"),
    ],
)
def test_what_may_not_or_can_not_be_sent_is_a_tool_error_and_no_request(environ: dict[str, str], code: str) -> None:
    gateway = Gateway()
    assert failed(gateway, {**ENVIRON, **environ}).code == code
    assert gateway.asked == []


@pytest.mark.parametrize("arguments", [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}])
def test_arguments_that_are_no_json_are_a_tool_error(arguments: Any) -> None:
    gateway = Gateway()
    assert failed(gateway, arguments=arguments).code == "BAD_ARGUMENTS"
    assert gateway.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "where", ["http://elsewhere.test/", "http://platform.test:8000/other", "//elsewhere.test", "\u00e9:"]
)
def test_a_redirect_is_not_followed(status: int, where: str) -> None:
    gateway = Gateway(lambda request: httpx.Response(status, headers=[(b"location", where.encode())]))
    assert failed(gateway).code == "GATEWAY_REDIRECTS"
    assert [request.url.host for request in gateway.asked] == ["platform.test"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 424, 500, 502, 504])
def test_a_refusal_keeps_the_gateways_code(status: int) -> None:
    body = {"code": "NOT_IN_MANIFEST", "message": "no such tool\nhere"}
    refused = failed(Gateway(lambda request: httpx.Response(status, json=body)))
    assert (refused.code, refused.message) == ("NOT_IN_MANIFEST", "no such tool\\nhere")
    assert str(refused) == "NOT_IN_MANIFEST: no such tool\\nhere"


def test_a_long_message_is_cut() -> None:
    body = {"code": "X", "message": "m" * 10_000}
    assert len(failed(Gateway(lambda request: httpx.Response(400, json=body))).message) < 600


WHOLE = json.dumps(OK).encode()
GARBAGE: dict[str, tuple[httpx.Response, str]] = {
    "a page": (httpx.Response(200, html=f"<html>{SECRET}</html>"), "GATEWAY_GARBAGE"),
    "nothing": (httpx.Response(200), "GATEWAY_GARBAGE"),
    "a list": (httpx.Response(200, json=[]), "GATEWAY_GARBAGE"),
    "not ok": (httpx.Response(200, json={"ok": False, "result": 1}), "GATEWAY_GARBAGE"),
    "ok as a number": (httpx.Response(200, json={"ok": 1, "result": 1}), "GATEWAY_GARBAGE"),
    "no result": (httpx.Response(200, json={"ok": True}), "GATEWAY_GARBAGE"),
    "a code with 200": (httpx.Response(200, json={"code": "X", "message": "m"}), "GATEWAY_GARBAGE"),
    "accepted": (httpx.Response(202, json=OK), "GATEWAY_GARBAGE"),
    "infinity": (httpx.Response(200, content=b'{"ok": true, "result": 1e999}'), "GATEWAY_GARBAGE"),
    "no number": (httpx.Response(200, content=b'{"ok": true, "result": NaN}'), "GATEWAY_GARBAGE"),
    "a number too long": (httpx.Response(200, content=b'{"ok":true,"result":' + b"9" * 5000 + b"}"), "GATEWAY_GARBAGE"),
    "not UTF-8": (httpx.Response(200, content=b'{"ok": true, "result": "\xff"}'), "GATEWAY_GARBAGE"),
    "too deep": (
        httpx.Response(200, content=b'{"ok":true,"result":' + b"[" * 65 + b"]" * 65 + b"}"),
        "GATEWAY_GARBAGE",
    ),
    "far too deep": (httpx.Response(200, content=b"[" * 100_000), "GATEWAY_GARBAGE"),
    "too long": (httpx.Response(200, content=WHOLE.ljust(ANSWER_BYTES_MAX + 1)), "GATEWAY_GARBAGE"),
    "packed": (
        httpx.Response(200, stream=httpx.ByteStream(gzip.compress(WHOLE)), headers={"content-encoding": "gzip"}),
        "GATEWAY_GARBAGE",
    ),
    "an error page": (httpx.Response(500, html=SECRET), "GATEWAY_ERROR"),
    "a code in small letters": (httpx.Response(400, json={"code": "nope", "message": "m"}), "GATEWAY_ERROR"),
    "a code of many words": (httpx.Response(400, json={"code": "A B", "message": "m"}), "GATEWAY_ERROR"),
    "a code without words": (httpx.Response(400, json={"code": "A"}), "GATEWAY_ERROR"),
    "an echo of the secret": (httpx.Response(200, json={"ok": True, "result": {"h": SECRET}}), "GATEWAY_GARBAGE"),
    "an echo as a name": (httpx.Response(400, json={"code": "A", "message": "m", SECRET: 1}), "GATEWAY_GARBAGE"),
    "an echo in a refusal": (httpx.Response(400, json={"code": "A", "message": f"got {SECRET}"}), "GATEWAY_GARBAGE"),
    "an echo in base64": (
        httpx.Response(200, json={"ok": True, "result": base64.b64encode(f"Bearer {SECRET}".encode()).decode()}),
        "GATEWAY_GARBAGE",
    ),
}


@pytest.mark.parametrize(("answer", "code"), GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_a_tool_error(answer: httpx.Response, code: str) -> None:
    assert failed(Gateway(lambda request: answer)).code == code


def test_the_longest_answer_goes_through() -> None:
    given, _ = call(Gateway(lambda request: httpx.Response(200, content=WHOLE.ljust(ANSWER_BYTES_MAX))))
    assert given == OK["result"]


def test_the_deepest_result_of_the_gateway_goes_through() -> None:
    deep = b'{"ok":true,"result":' + b"[" * 64 + b"]" * 64 + b"}"
    given, _ = call(Gateway(lambda request: httpx.Response(200, content=deep)))
    assert json.dumps(given) == "[" * 64 + "]" * 64


@pytest.mark.parametrize("result", [None, 0, "", [], {"a": ["b"]}, "\ud800"])
def test_any_json_is_a_result(result: Any) -> None:
    content = json.dumps({"ok": True, "result": result}).encode()
    given, _ = call(Gateway(lambda request: httpx.Response(200, content=content)))
    assert given == result


@pytest.mark.parametrize(
    "error",
    [httpx.ConnectError(SECRET), httpx.ReadError(SECRET), httpx.LocalProtocolError(SECRET), OSError(SECRET)],
)
def test_a_gateway_that_is_down_is_a_tool_error(error: Exception) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    assert failed(Gateway(answer)).code == "GATEWAY_UNREACHABLE"


def test_a_gateway_that_is_slow_is_a_tool_error_in_time() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(3_600)
        raise AssertionError

    given, after_s = call(Gateway(answer))
    assert isinstance(given, ToolFailed)
    assert (given.code, after_s) == ("GATEWAY_TIMEOUT", CALL_S)
    assert CALL_S < 30


def test_a_gateway_that_drips_is_a_tool_error_in_time() -> None:
    class Drip(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                await asyncio.sleep(1)
                yield b" "

    given, after_s = call(Gateway(lambda request: httpx.Response(200, stream=Drip())))
    assert isinstance(given, ToolFailed)
    assert (given.code, after_s) == ("GATEWAY_TIMEOUT", CALL_S)


def test_a_proxy_of_the_environment_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:1")
    client = ToolGatewayClient(ENVIRON)
    assert client._http._mounts == {}
