"""What does the MCP Inspector's command line make of a server? One process per call, with the token in a header.

It is a client that others wrote: it opens a session for each call (2025-11-25) and leaves without ending it. Exit code
0: a result; 5: a result that says it failed; 1: a JSON-RPC error, of which it shows the message only; 3: no way past
the door. Source: contract mcp_conformance, section 5.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.conformance.child import run_to_end
from lasttick.conformance.toolbox import Toolbox

CALL_S = 30.0


@dataclass(frozen=True, slots=True)
class Inspected:
    """`result`: the JSON on standard output, None when there is none; `said`: standard error."""

    code: int
    result: dict[str, Any] | None
    said: str


@dataclass(frozen=True, slots=True)
class Inspector:
    """The command line, with a home of its own in `home`: it keeps a catalog there."""

    box: Toolbox
    url: str
    token: str
    home: Path

    async def tools_list(self) -> Inspected:
        return await self._run("--method", "tools/list")

    async def tools_call(self, tool: str, **arguments: object) -> Inspected:
        """A call whose arguments are typed as a person does: `key=value`."""
        pairs = [f"{key}={value}" for key, value in arguments.items()]
        given = ["--tool-arg", *pairs] if pairs else []
        return await self._run("--method", "tools/call", "--tool-name", tool, *given)

    def _command(self, asked: Sequence[str]) -> list[str]:
        assert self.box.node is not None, "ask the toolbox what it lacks before an Inspector is started"
        where = ["--cli", self.url, "--transport", "http", "--header", f"Authorization: Bearer {self.token}"]
        return [str(self.box.node.path), str(self.box.inspector), *where, "--stored-auth-only", *asked]

    async def _run(self, *asked: str) -> Inspected:
        """Raises SuiteFailed when it does not end in time."""
        ended = await run_to_end(self._command(asked), CALL_S, environ={"HOME": str(self.home)}, folder=self.home)
        try:
            # After a result that says it failed there is a second object.
            result, _ = json.JSONDecoder().raw_decode(ended.out.lstrip())
        except ValueError:
            result = None
        return Inspected(ended.code, result if isinstance(result, dict) else None, ended.said)
