"""Wrong versions of the agent half: what its child gets, advertises and is registered with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

from lasttick.model import tool_names
from lasttick.mutants import Mutant, Seam
from lasttick.reference.gateway import config_file, config_merge, humanwork, platform_auth
from lasttick.reference.gateway.agent import TrustedAgent
from lasttick.reference.gateway.config_text import TextError
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.humanwork import Humanwork
from lasttick.reference.gateway.tool_gateway_client import ToolGatewayClient

HUMANWORK = "gateway/humanwork/"
BOOT = "gateway/boot/"
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


def without_env(right: Any) -> Callable[..., Any]:
    """As if a child inherited the program's environment."""
    return lambda *given: {name: value for name, value in right(*given).items() if name != "env"}


def values_written(right: Any) -> Callable[..., Any]:
    """At boot each variable that is set stands in the file with its value."""

    def register(self: TrustedAgent) -> None:
        def filled(entry: Any) -> Callable[..., Any]:
            def server_entry(*given: Any) -> dict[str, Any]:
                ours = entry(*given)
                return {**ours, "env": {name: self._environ.get(name, ref) for name, ref in ours["env"].items()}}

            return server_entry

        with Seam().wrap(config_merge, "server_entry", filled):
            right(self)

    return register


def round_trip(right: Any) -> Callable[..., Any]:
    """Loaded, changed and dumped: the data is right, the text another."""

    def merged(text: str, ours: Mapping[str, Any]) -> str:
        result = right(text, ours)
        return text if result is text else str(yaml.safe_dump(yaml.safe_load(result), sort_keys=False))

    return merged


def own_entry_only(right: Any) -> Callable[..., Any]:
    """The entry is set, whatever was there: an operator's keys in it go."""

    def merged(text: str, ours: Mapping[str, Any]) -> str:
        result = right(text, ours)
        data = yaml.safe_load(result)
        if data["mcp_servers"]["humanwork"] == ours:
            return str(result)
        data["mcp_servers"]["humanwork"] = dict(ours)
        return str(yaml.safe_dump(data, sort_keys=False))

    return merged


def says_so_each_time(right: Any) -> Callable[..., Any]:
    return lambda text, ours: right(text, ours) + "# humanwork registered at boot\n"


def begins_anew(right: Any) -> Callable[..., Any]:
    """What cannot be merged is no configuration, so a new one is begun."""

    def merged(text: str, ours: Mapping[str, Any]) -> str:
        try:
            return str(right(text, ours))
        except TextError:
            return str(right("", ours))

    return merged


def made_writable(right: Any) -> Callable[..., Any]:
    """Whoever owns the file may write it, whatever its mode says."""

    def _read(path: Path) -> Any:
        if path.is_file():
            path.chmod(path.stat().st_mode | 0o200)
        return right(path)

    return _read


def in_place(path: Path, found: Any, after: bytes) -> bool:
    path.write_bytes(after)
    return True


def last_writer_wins(temp: Path, path: Path, before: bytes, after: bytes) -> bool:
    """Put in place of whatever stands there by now."""
    os.replace(temp, path)
    return True


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
        "gateway/registration-without-env",
        breaks="GW-16",
        ruling=7,
        text="the registration names no variables: the server's child has no run, no list and no secret",
        killed_by=BOOT + "the-server-gets-what-the-registration-names",
        patch=lambda seam: seam.wrap(config_merge, "server_entry", without_env),
    ),
    Mutant(
        "gateway/registration-writes-secret-value",
        breaks="GW-16",
        ruling=7,
        text="the registration holds the secret itself, in a file that outlives the turn",
        killed_by=BOOT + "the-server-gets-what-the-registration-names",
        patch=lambda seam: seam.wrap(TrustedAgent, "register", values_written),
    ),
    Mutant(
        "gateway/registration-round-trips",
        breaks="GW-16",
        text="the whole file is loaded and dumped: comments, quotes, anchors and line ends go",
        killed_by=BOOT + "an-operators-file-keeps-every-other-byte",
        patch=lambda seam: seam.wrap(config_merge, "merged", round_trip),
    ),
    Mutant(
        "gateway/registration-overwrites-operator-server",
        breaks="GW-16",
        text="an operator's keys inside the server's entry are overwritten with it",
        killed_by=BOOT + "what-an-operator-wrote-into-our-block-survives",
        patch=lambda seam: seam.wrap(config_merge, "merged", own_entry_only),
    ),
    Mutant(
        "gateway/registration-not-idempotent",
        breaks="GW-16",
        text="each boot adds a line",
        killed_by=BOOT + "an-operators-file-keeps-every-other-byte",
        patch=lambda seam: seam.wrap(config_merge, "merged", says_so_each_time),
    ),
    Mutant(
        "gateway/registration-begins-anew",
        breaks="GW-16",
        text="a file that cannot be merged is replaced by one with our server alone",
        killed_by=BOOT + "what-cannot-be-merged-is-left-as-it-is[no YAML]",
        patch=lambda seam: seam.wrap(config_merge, "merged", begins_anew),
    ),
    Mutant(
        "gateway/registration-forces-read-only",
        breaks="GW-16",
        text="a file that its operator made read-only is made writable, and written",
        killed_by=BOOT + "what-is-no-file-to-write-is-left-as-it-is[read-only]",
        patch=lambda seam: seam.wrap(config_file, "_read", made_writable),
    ),
    Mutant(
        "gateway/registration-keeps-nothing-after-kill",
        breaks="GW-16",
        text="the file is written in place: a boot that is killed meanwhile leaves a torn one",
        killed_by=BOOT + "a-kill-within-the-write-leaves-the-old-file[60]",
        patch=lambda seam: seam.replace(config_file, "_written", in_place),
    ),
    Mutant(
        "gateway/registration-last-writer-wins",
        breaks="GW-16",
        text="what the agent wrote while the boot was reading is overwritten",
        killed_by=BOOT + "what-the-agent-writes-meanwhile-is-not-lost",
        patch=lambda seam: seam.replace(config_file, "_replaced", last_writer_wins),
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
