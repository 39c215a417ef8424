"""How does a smoke group talk to the server, and what ends it early? A scope that the token lacks is no failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

from lasttick.targets.vaultclaw.answer import ToolAnswer
from lasttick.targets.vaultclaw.smoke.settings import Settings, SmokeUnreachable

SCOPES = {
    "connectors_list": "connectors.list.v1",
    "connector_get": "connectors.get.v1",
    "connector_validate": "connectors.execute.v1",
    "connector_execute": "connectors.execute.v1",
    "connector_execute_job": "connectors.execute_job.v1",
    "job_get": "connectors.execute_job.v1",
    "plan_validate": "connectors.plans.execute.v1",
    "plan_execute": "connectors.plans.execute.v1",
    "plan_run_get": "connectors.plans.read.v1",
    "approvals_pending_list": "connectors.approvals.pending.read.v1",
    "approvals_pending_get": "connectors.approvals.pending.read.v1",
}
"""What each tool needs of the token (contract vaultclaw 8); the vault may name it more exactly."""
LACKING = ("FORBIDDEN", "INSUFFICIENT_SCOPE")


class Caller(Protocol):
    """Whoever calls the server's tools, by names without prefix. AssertionError: no answer that a tool gives."""

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /) -> ToolAnswer: ...


class Failed(Exception):
    """A group failed: what was seen, and what was expected."""


class MissingScope(Exception):
    """A group cannot be judged: the token lacks a scope, which is the message."""


class Talk:
    """One run's way to the server. `say` takes a line for the person who watches."""

    def __init__(self, caller: Caller, settings: Settings, say: Callable[[str], None]) -> None:
        self._caller = caller
        self.settings = settings
        self.say = say

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolAnswer:
        """One call. Raises MissingScope, SmokeUnreachable, and Failed for an answer that no tool may give."""
        try:
            answer = await self._caller.call(tool, dict(arguments or {}))
        except AssertionError as error:
            raise Failed(f"{tool}: {error}") from error
        if self.settings.token in json.dumps(answer.result, ensure_ascii=False):
            raise Failed(f"{tool} shows the token; expected no token in any answer (VC-02)")
        if not answer.ok:
            self._may_go_on(tool, answer)
        return answer

    async def done(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """The data of a call that must be well. Raises as `call`, and Failed when it is not."""
        answer = await self.call(tool, arguments)
        if not answer.ok:
            failed(f"{tool} answered {told(answer)}", "success")
        return answer.data

    async def refused(self, tool: str, code: str, arguments: Mapping[str, Any] | None = None) -> ToolAnswer:
        """A call that must fail with that code. Raises as `call`, and Failed when it does not."""
        answer = await self.call(tool, arguments)
        if answer.code != code:
            failed(f"{tool} answered {told(answer)}", code)
        return answer

    def _may_go_on(self, tool: str, answer: ToolAnswer) -> None:
        vault_code = str(answer.error["vault_code"]).upper()
        if vault_code == "NETWORK_ERROR":
            raise SmokeUnreachable(
                f"the vault does not answer at {self.settings.unix_socket or self.settings.base_url}: "
                f"{answer.error['message']}",
                "a vault daemon at VC_BASE_URL, or at the Unix socket VC_UNIX_SOCKET",
                "start it, or correct the variable; `lasttick serve vaultd` is a fake one",
            )
        if vault_code in LACKING and tool in SCOPES:
            vault_error = answer.details.get("vault_error") or {}
            named = (vault_error.get("details") or {}).get("required_scope")
            raise MissingScope(named or SCOPES[tool])


def failed(seen: str, expected: str) -> NoReturn:
    """Raises Failed."""
    raise Failed(f"{seen}; expected {expected}")


def told(answer: ToolAnswer) -> str:
    """An answer in a few words."""
    return "success" if answer.ok else f"{answer.code}: {answer.error['message']}"
