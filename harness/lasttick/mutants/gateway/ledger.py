"""Wrong versions of what is written down of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lasttick.model.trust import Admitted
from lasttick.mutants import Mutant
from lasttick.reference.gateway import hermes_turn, redaction
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.ledger import Attempt, Ledger
from lasttick.reference.gateway.tools import ToolGatewayService

LEDGER = "gateway/ledger/"


def refused_twice(right: Any) -> Callable[..., Any]:
    def refused(self: Ledger, attempt: Attempt, status: int, outcome: str) -> None:
        right(self, attempt, status, outcome)
        right(self, attempt, status, outcome)

    return refused


def never_closed(self: Ledger, seq: int | None, status: int | None, outcome: str) -> None:
    """The row of a call stays as it was opened."""


def not_written(self: Ledger, attempt: Attempt, status: int, outcome: str) -> None:
    """Only what was executed is worth a row."""


def row_of_the_unreadable(right: Any) -> Callable[..., Any]:
    """A body that can not be read leaves a row as well."""

    async def execute(self: ToolGatewayService, admitted: Admitted, body: dict[str, Any]) -> Any:
        try:
            return await right(self, admitted, body)
        except Refused as refused:
            if refused.refusal.status == 400:
                self._ledger.refused(Attempt(admitted, "", "", "", {}), 400, refused.refusal.code)
            raise

    return execute


def row_after_the_executor(right: Any) -> Callable[..., Any]:
    """The row is written in one go when the executor is done."""

    async def _run(self: ToolGatewayService, call: Any, attempt: Attempt, organisation: Any, known: Any) -> Any:
        result = await self._executors.run(
            known.entries[call.tool_name],
            call.tool_name,
            call.action,
            call.input,
            credentials=organisation.credentials.get(call.tool_name, {}),
            run_id=call.run_id,
        )
        self._ledger.refused(attempt, 200, "OK")
        return result

    return _run


def secret_in_the_prompt(right: Any) -> Callable[..., Any]:
    """The model is told what it may need."""

    async def take_turn(program: Any, command: Any, container_env: Mapping[str, str], url: str, turn: Any) -> str:
        told = f"{turn.text} (AGENT_SERVICE_SECRET is {container_env.get('AGENT_SERVICE_SECRET')})"
        return str(await right(program, command, container_env, url, replace(turn, text=told)))

    return take_turn


def plain_only(secret: str) -> Any:
    """A secret is looked for as it stands."""
    if secret:
        yield secret


def no(*_: Any) -> bool:
    return False


MUTANTS = [
    Mutant(
        "gateway/ledger-row-missing-on-refusal",
        breaks="GW-09",
        text="a refused attempt leaves no row",
        killed_by=LEDGER + "every-attempt-leaves-one-row[internal]",
        patch=lambda seam: seam.replace(Ledger, "refused", not_written),
    ),
    Mutant(
        "gateway/ledger-row-twice",
        breaks="GW-09",
        text="a refused attempt leaves two rows",
        killed_by=LEDGER + "every-attempt-leaves-one-row[internal]",
        patch=lambda seam: seam.wrap(Ledger, "refused", refused_twice),
    ),
    Mutant(
        "gateway/ledger-row-of-the-unreadable",
        breaks="GW-09",
        text="a body that can not be read leaves a row",
        killed_by=LEDGER + "every-attempt-leaves-one-row[internal]",
        patch=lambda seam: seam.wrap(ToolGatewayService, "execute", row_of_the_unreadable),
    ),
    Mutant(
        "gateway/ledger-row-after-the-executor",
        breaks="GW-09",
        text="while the third party is asked nothing is written, so an effect without a row is possible",
        killed_by=LEDGER + "the-row-is-there-before-the-executor-is-done",
        patch=lambda seam: seam.wrap(ToolGatewayService, "_run", row_after_the_executor),
    ),
    Mutant(
        "gateway/ledger-row-stays-open",
        breaks="GW-09",
        text="what came of an executed call is not written",
        killed_by=LEDGER + "the-row-is-there-before-the-executor-is-done",
        patch=lambda seam: seam.replace(Ledger, "closed", never_closed),
    ),
    Mutant(
        "gateway/secret-on-a-command-line",
        breaks="GW-09",
        text="the agent's secret stands in the prompt, and so on the command line of the program",
        killed_by=LEDGER + "no-secret-stands-on-a-command-line",
        patch=lambda seam: seam.wrap(hermes_turn, "take_turn", secret_in_the_prompt),
    ),
    Mutant(
        "gateway/redaction-off",
        breaks="GW-09",
        text="what a caller sends is written down as it is, secrets included",
        killed_by=LEDGER + "no-secret-is-written-down-wherever-a-caller-puts-it",
        patch=lambda seam: seam.replace(redaction.Redactor, "_found", no),
    ),
    Mutant(
        "gateway/redaction-of-the-plain-secret-only",
        breaks="GW-09",
        text="a secret in base64 or hex is written down",
        killed_by=LEDGER + "no-secret-is-written-down-wherever-a-caller-puts-it",
        patch=lambda seam: seam.replace(redaction, "disguises", plain_only),
    ),
]
