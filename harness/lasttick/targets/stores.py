"""What does a benchmark measure? The host agent's lease stores, and an MCP server with and without its lease wrapper.

Joined here, because only `targets` may reach into the reference. A benchmark of stores loads no MCP SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.model.lease import Holder
from lasttick.ports import Clock, DriverHealth, LeaseStore
from lasttick.reference.hostagent.busy_tracker import McpBusyTracker
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.sqlite_store import SqliteLeaseStore

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from lasttick.ports import DeviceInfo

TTL_S = 60.0
HOLDER = Holder("mcp", "0123456789abcdef0123456789abcdef")
Seen = Callable[[str, str, Mapping[str, Any]], None]


def memory_store(clock: Clock) -> LeaseStore:
    return MemoryLeaseStore(clock, TTL_S)


@contextmanager
def sqlite_store(path: Path, clock: Clock) -> Iterator[LeaseStore]:
    """A store in the file `path`. Raises StartError when the file cannot be used."""
    store = SqliteLeaseStore(path, clock, TTL_S)
    try:
        yield store
    finally:
        store.close()


def busy_tracker(clock: Clock) -> McpBusyTracker:
    return McpBusyTracker(clock=clock, ttl_seconds=TTL_S)


class QuickDevice:
    """An Android-like device whose every action succeeds at once; tells `seen(kind, tool, arguments)` if given."""

    fence = 0

    def __init__(self, device_id: str, seen: Seen | None = None) -> None:
        from lasttick.ports import DeviceInfo

        self.info: DeviceInfo = DeviceInfo(device_id, "android", 1, 1080, 2400)
        self._seen = seen

    async def health(self) -> DriverHealth:
        return "ok"

    async def left_over(self) -> bool:
        return False

    async def claim(self, fence: int) -> bool:
        return True

    async def perform(self, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Mapping[str, Any]:
        if self._seen is None:
            return {"ok": True}
        self._seen("start", tool, arguments)
        self._seen("end", tool, arguments)
        return {"ok": True}


def leased_server(clock: Clock, device: QuickDevice) -> Server[Any]:
    """The host agent's MCP server over one device; every call is of one session."""
    from lasttick.reference.hostagent.calls import LeasedCalls
    from lasttick.reference.hostagent.devices import DeviceManager
    from lasttick.reference.hostagent.mcp_server import McpEndpoint

    manager = DeviceManager()
    manager.register(device)
    store = MemoryLeaseStore(clock, TTL_S)
    endpoint = McpEndpoint(
        calls=LeasedCalls(manager, store, clock),
        store=store,
        verify=lambda token: False,
        resolver=lambda ctx: HOLDER,
    )
    return endpoint.server


def bare_server(device: QuickDevice) -> Server[Any]:
    """The SDK's server with the same tools on the same device, called without asking anybody: the floor."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    from lasttick.reference.hostagent import tools
    from lasttick.reference.hostagent.devices import DeviceManager

    manager = DeviceManager()
    manager.register(device)
    handlers = tools.tool_handlers(manager=manager)
    listed = [
        types.Tool(name=spec.name, description=spec.description, input_schema=spec.input_schema)
        for spec in tools.TOOLS.values()
    ]

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        result = await handlers[params.name](**(params.arguments or {}))
        text = types.TextContent(type="text", text=tools.as_text(result))
        return types.CallToolResult(content=[text], structured_content=result)

    server: Server[Any] = Server(
        "lasttick-bare",
        get_tool_input_schema=lambda name: tools.TOOLS[name].input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # the SDK's own tracing, which the host agent's server does without as well
    return server
