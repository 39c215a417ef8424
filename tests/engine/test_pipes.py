"""Byte pipes: real framing between two parties in one process, and an MCP server over them in both eras."""

import pytest

from lasttick.engine.loop import run_virtual
from lasttick.engine.pipes import pipe_pair


def test_lines_arrive_whole_however_they_were_cut():
    async def main(loop):
        ours, theirs = pipe_pair()
        for piece in (b'{"a"', b":1}\n{", b'"b":2}\r\n', b"half"):
            ours.write(piece)
        ours.close()
        return [line async for line in theirs.lines()]

    assert run_virtual(main) == [b'{"a":1}', b'{"b":2}', b"half"]


def test_both_directions_are_independent():
    async def main(loop):
        ours, theirs = pipe_pair()
        ours.write(b"ping\n")
        theirs.write(b"pong\n")
        ours.close()
        theirs.close()
        return [line async for line in theirs.lines()], [line async for line in ours.lines()]

    assert run_virtual(main) == ([b"ping"], [b"pong"])


def test_writing_to_a_closed_pipe_is_an_error():
    async def main(loop):
        ours, _ = pipe_pair()
        ours.close()
        ours.close()
        ours.write(b"late\n")

    with pytest.raises(BrokenPipeError, match="closed pipe"):
        run_virtual(main)


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_the_reference_serves_mcp_over_pipes_in_both_eras(era):
    from lasttick.engine.clock import VirtualClock
    from lasttick.model.lease import Holder
    from lasttick.reference.hostagent.calls import LeasedCalls
    from lasttick.reference.hostagent.devices import DeviceManager
    from lasttick.reference.hostagent.mcp_server import McpEndpoint
    from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
    from lasttick.targets.pipes import piped
    from lasttick_fakes.devices import Rack, parse_devices

    async def main(loop):
        clock = VirtualClock(loop)
        rack = Rack(clock, parse_devices("phone-1"))
        manager = DeviceManager()
        for driver in await rack.drivers():
            manager.register(driver)
        store = MemoryLeaseStore(clock)
        endpoint = McpEndpoint(
            calls=LeasedCalls(manager, store, clock),
            store=store,
            verify=lambda token: True,
            resolver=lambda ctx: Holder("mcp", "pipe"),
        )
        async with piped(endpoint.server, era) as client:
            tools = await client.request("tools/list", {})
            tap = {"name": "tap", "arguments": {"device_id": "phone-1", "x": 1, "y": 1}}
            answer = await client.request("tools/call", tap)
            wrong = await client.request(
                "tools/call", {"name": "tap", "arguments": {"device_id": "phone-9", "x": 1, "y": 1}}
            )
            held = [view.device_id for view in await store.snapshot()]
        rack.close()
        return len(tools["result"]["tools"]), answer["result"]["structuredContent"]["ok"], wrong["error"]["code"], held

    assert run_virtual(main) == (11, True, -32602, ["phone-1"])
