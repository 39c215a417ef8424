"""Wrong versions of the agent half: what its child advertises, calls and passes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx

from lasttick.model import tool_names
from lasttick.mutants import Mutant
from lasttick.reference.gateway import humanwork, platform_auth
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.humanwork import Humanwork
from lasttick.reference.gateway.tool_gateway_client import ToolGatewayClient

HUMANWORK = "gateway/humanwork/"
FIRST_CALL = "gateway/first-call/a-message-brings-an-answer-from-the-third-party[0.19.0]"
EVERYTHING = ("order_lookup:lookup", "shop:get_order", "shop:get_product", "shop:refund")


def everything(right: Any) -> Callable[..., Any]:
    """The whole registry, whatever the turn's list says."""

    def configured_tools(environ: Mapping[str, str]) -> dict[str, str]:
        return {**right(environ), **{tool_names.encode(pair): pair for pair in EVERYTHING}}

    return configured_tools


def any_name(right: Any) -> Callable[..., Any]:
    """A name is looked at only to find the action behind it: the turn's list is what is shown, not what is called."""

    async def _execute(self: Humanwork, name: str, arguments: Mapping[str, Any]) -> Any:
        try:
            pair = tool_names.decode(name)
        except tool_names.ToolNameError:
            return await right(self, name, arguments)
        return await self._gateway.execute(*tool_names.parted(pair), arguments)

    return _execute


def raw_names(right: Any) -> Callable[..., Any]:
    return lambda environ: {pair: pair for pair in right(environ).values()}


def asks_twice(right: Any) -> Callable[..., Any]:
    """Once to see whether it works, once for the result."""

    async def _answer(self: ToolGatewayClient, request: httpx.Request) -> Any:
        await right(self, request)
        return await right(self, request)

    return _answer


def runs_twice(right: Any) -> Callable[..., Any]:
    async def _result(self: Executors, request: httpx.Request) -> Any:
        await right(self, request)
        return await right(self, request)

    return _result


def anonymous(right: Any) -> Callable[..., Any]:
    async def _result(self: Executors, request: httpx.Request) -> Any:
        request.headers.pop("x-correlation-id", None)
        return await right(self, request)

    return _result


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/humanwork-advertises-everything",
        breaks="GW-15",
        text="the server offers what the registry has, not what the turn was given",
        killed_by=HUMANWORK + "it-offers-exactly-the-configured-tools",
        patch=lambda seam: seam.wrap(humanwork, "configured_tools", everything),
    ),
    Mutant(
        "gateway/literal-placeholder-used",
        breaks="GW-15",
        ruling=7,
        text="an unfilled ${NAME} is taken for the value of the variable",
        killed_by=HUMANWORK + "without-a-list-it-offers-nothing[${HUMANWORK_MCP_TOOLS}-handshake]",
        patch=lambda seam: seam.replace(platform_auth, "is_placeholder", lambda value: False),
    ),
    Mutant(
        "gateway/hidden-tool-is-called",
        breaks="GW-15",
        text="a tool that is not offered is handed to the gateway all the same",
        killed_by=HUMANWORK + "a-name-it-does-not-offer-is-not-called[shop__refund]",
        patch=lambda seam: seam.wrap(Humanwork, "_execute", any_name),
    ),
    Mutant(
        "gateway/pair-as-tool-name",
        breaks="GW-15",
        ruling=8,
        text="the tool's MCP name is the pair itself, which the agent folds into something else",
        killed_by=HUMANWORK + "it-offers-exactly-the-configured-tools",
        patch=lambda seam: seam.wrap(humanwork, "configured_tools", raw_names),
    ),
    Mutant(
        "gateway/colliding-tool-names",
        breaks="GW-15",
        ruling=8,
        text="two tools that are one name to the agent are both offered",
        killed_by=HUMANWORK + "two-tools-the-agent-could-not-tell-apart-are-refused",
        patch=lambda seam: seam.replace(tool_names, "refuse_collisions", lambda pairs: None),
    ),
    Mutant(
        "gateway/gateway-called-twice",
        breaks="GW-17",
        text="the agent's client asks the gateway twice for each call of the model",
        killed_by=FIRST_CALL,
        patch=lambda seam: seam.wrap(ToolGatewayClient, "_answer", asks_twice),
    ),
    Mutant(
        "gateway/third-party-called-twice",
        breaks="GW-17",
        text="one call of the agent's is two requests to the third party",
        killed_by=FIRST_CALL,
        patch=lambda seam: seam.wrap(Executors, "_result", runs_twice),
    ),
    Mutant(
        "gateway/correlation-is-lost",
        breaks="GW-17",
        text="the third party is not told for which run it is asked",
        killed_by=FIRST_CALL,
        patch=lambda seam: seam.wrap(Executors, "_result", anonymous),
    ),
]
