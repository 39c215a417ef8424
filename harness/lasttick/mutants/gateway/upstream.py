"""Wrong versions of what becomes of a call when somebody at its far end is slow, down or broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import httpx

from lasttick.mutants import Mutant
from lasttick.reference.gateway import executors, http_json, tool_gateway_client
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.humanwork import Humanwork

UPSTREAM = "gateway/upstream/"


def gives_up_early(right: Any) -> Callable[..., Any]:
    def __init__(self: Executors, url: str | None, *, transport: Any, timeout_s: float) -> None:
        right(self, url, transport=transport, timeout_s=timeout_s / 2)

    return __init__


def unforeseen(right: Any) -> Callable[..., Any]:
    """Nobody thought of a connection that breaks."""

    async def _result(self: Executors, request: Any) -> Any:
        try:
            return await right(self, request)
        except httpx.TransportError as error:
            raise RuntimeError("unforeseen") from error

    return _result


def waits_for_ever(right: Any) -> Callable[..., Any]:
    def __init__(self: Executors, url: str | None, *, transport: Any, timeout_s: float) -> None:
        right(self, url, transport=transport, timeout_s=1e9)

    return __init__


def trusts_the_body(body: bytes) -> dict[str, Any] | None:
    """What is no JSON object is a result all the same."""
    parsed = http_json.parse_object(body)
    return {"text": body[:100].decode("latin-1")} if parsed is None else parsed


class LooseJson:
    """`http_json` as the executors see it."""

    BODY_MAX = http_json.BODY_MAX
    parse_object = staticmethod(trusts_the_body)


def tells_their_words(right: Any) -> Callable[..., Any]:
    """The third party's page goes on in the message."""

    async def _result(self: Executors, request: Any) -> Any:
        answer = await self._transport.handle_async_request(request)
        if answer.status_code >= 500:
            page = (await answer.aread()).decode("latin-1")
            await answer.aclose()
            raise executors.upstream(502, "UPSTREAM_ERROR", f"the third party said {page}")

        async def come(_: Any) -> Any:
            return answer

        return await right(SimpleNamespace(_transport=SimpleNamespace(handle_async_request=come)), request)

    return _result


def once_broken_stays_broken(right: Any) -> Callable[..., Any]:
    """A server that met one error answers every later call with it."""

    async def _execute(self: Humanwork, name: str, arguments: Mapping[str, Any]) -> Any:
        broken = vars(self).get("_broken")
        if broken is not None:
            raise broken
        try:
            return await right(self, name, arguments)
        except Exception as error:
            vars(self)["_broken"] = error
            raise

    return _execute


def error_is_a_result(right: Any) -> Callable[..., Any]:
    """A tool call that failed is told as an empty result."""

    async def _execute(self: Humanwork, name: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return await right(self, name, arguments)
        except tool_gateway_client.ToolFailed:
            return {}

    return _execute


MUTANTS = [
    Mutant(
        "gateway/upstream-unbounded",
        breaks="GW-18",
        text="a third party that takes its time is waited for as long as it takes",
        killed_by=UPSTREAM + "a-slow-third-party-is-waited-for-until-its-bound[1000]",
        patch=lambda seam: seam.wrap(Executors, "__init__", waits_for_ever),
    ),
    Mutant(
        "gateway/upstream-gives-up-early",
        breaks="GW-18",
        text="a third party that answers within its bound is not waited for",
        killed_by=UPSTREAM + "a-slow-third-party-is-waited-for-until-its-bound[-1]",
        patch=lambda seam: seam.wrap(Executors, "__init__", gives_up_early),
    ),
    Mutant(
        "gateway/upstream-down-is-unforeseen",
        breaks="GW-18",
        text="a third party that hangs up is an error that nobody caught",
        killed_by=UPSTREAM + "a-broken-third-party-is-a-code[down]",
        patch=lambda seam: seam.wrap(Executors, "_result", unforeseen),
    ),
    Mutant(
        "gateway/upstream-garbage-is-a-result",
        breaks="GW-18",
        text="whatever a third party answers with 200 is a result",
        killed_by=UPSTREAM + "a-broken-third-party-is-a-code[garbage]",
        patch=lambda seam: seam.replace(executors, "http_json", LooseJson),
    ),
    Mutant(
        "gateway/infinity-is-a-number",
        breaks="GW-18",
        text="1e999 is read as infinity, which no answer can hold: the call ends in an error that nobody caught",
        killed_by=UPSTREAM + "a-broken-third-party-is-a-code[garbage]",
        patch=lambda seam: seam.replace(http_json, "_finite", float),
    ),
    Mutant(
        "gateway/upstream-words-passed-on",
        breaks="GW-18",
        text="the error page of a third party, which may repeat credentials, goes on to the caller",
        killed_by=UPSTREAM + "a-broken-third-party-is-a-code[5xx]",
        patch=lambda seam: seam.wrap(Executors, "_result", tells_their_words),
    ),
    Mutant(
        "gateway/client-waits-for-ever",
        breaks="GW-18",
        text="the MCP server waits for the gateway as long as it takes",
        killed_by=UPSTREAM + "a-gateway-that-never-answers-is-a-tool-error-in-bounded-time",
        patch=lambda seam: seam.replace(tool_gateway_client, "CALL_S", 1e9),
    ),
    Mutant(
        "gateway/server-stays-broken",
        breaks="GW-18",
        text="after one error the MCP server answers nothing else",
        killed_by=UPSTREAM + "the-agent-is-told-of-a-broken-gateway[down-options0-GATEWAY_UNREACHABLE]",
        patch=lambda seam: seam.wrap(Humanwork, "_execute", once_broken_stays_broken),
    ),
    Mutant(
        "gateway/tool-error-is-an-empty-result",
        breaks="GW-18",
        text="a call that failed looks to the model like one that found nothing",
        killed_by=UPSTREAM + "the-agent-is-told-of-a-broken-third-party[down]",
        patch=lambda seam: seam.wrap(Humanwork, "_execute", error_is_a_result),
    ),
]
