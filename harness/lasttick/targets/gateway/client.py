"""The agent's gateway client by itself, in front of a platform that is not ours (memory rung).

Source: contract gateway, tool_gateway_client (GW-14).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lasttick.reference.gateway.tool_gateway_client import ToolFailed, ToolGatewayClient
from lasttick_fakes.gateway import ScriptedGateway

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld

GATEWAY, ELSEWHERE = "127.0.0.1:7190", "127.0.0.1:7191"
RUN = {"HUMANWORK_ORG_ID": "org-a", "HUMANWORK_RUN_ID": "run-1", "PLATFORM_API_URL": f"http://{GATEWAY}"}


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """How a call ended: a result, or a code with a message."""

    result: Any = None
    code: str | None = None
    message: str = ""


class ClientRung:
    """`gateway` is where the client is configured to call, `elsewhere` another origin."""

    def __init__(self, world: VirtualWorld) -> None:
        self._world = world
        self.gateway, self.elsewhere = ScriptedGateway(), ScriptedGateway()
        self.elsewhere_url = f"http://{ELSEWHERE}/v1/runtime/tools/execute"
        world.network.serve(GATEWAY, self.gateway)
        world.network.serve(ELSEWHERE, self.elsewhere)

    async def call(self, environ: Mapping[str, str], tool: str = "order_lookup", action: str = "lookup") -> ToolEnd:
        """One tool call with this environment beside that of a run."""
        client = ToolGatewayClient({**RUN, **environ}, transport=self._world.transport())
        try:
            return ToolEnd(result=await client.execute(tool, action, {"order_id": "A-1"}))
        except ToolFailed as error:
            return ToolEnd(code=error.code, message=error.message)
        finally:
            await client.aclose()
