"""Does the raw client speak MCP as a real SDK server understands it, in both eras, JSON and SSE?"""

from __future__ import annotations

import asyncio

import pytest

from lasttick_fakes.client import McpClient


def test_handshake_conversation(running):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token="secret", transport=peer.transport, name="alice")
            opened = await client.open()
            assert opened.ok
            assert opened.message["id"] == 1
            assert client.protocol_version == "2025-11-25"
            assert len(client.session_id) == 32

            answer = await client.call("add", a=1, b=2)
            assert answer.ok
            assert answer.http_status == 200
            assert answer.structured == {"sum": 3}
            assert answer.message["id"] == 2
            seen = peer.headers[-1]
            assert seen["authorization"] == "Bearer secret"
            assert seen["mcp-session-id"] == client.session_id
            assert seen["mcp-protocol-version"] == "2025-11-25"
            assert "mcp-method" not in seen

            tools = await client.list_tools()
            assert [tool["name"] for tool in tools.result["tools"]] == ["add"]
            assert (await client.ping()).ok
            assert (await client.delete()).http_status == 200
            gone = await client.call("add", a=1)
            assert gone.http_status == 404
            assert gone.error.code == -32600
            await client.close()

    asyncio.run(body())


def test_modern_conversation(running):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token=None, transport=peer.transport, era="modern", name="bob")
            found = await client.open()
            assert found.ok
            assert "2026-07-28" in found.result["supportedVersions"]
            answer = await client.call("add", a=1, b=2)
            assert answer.structured == {"sum": 3}
            assert client.session_id is None
            assert "mcp-session-id" not in answer.headers
            seen = peer.headers[-1]
            assert seen["mcp-method"] == "tools/call"
            assert seen["mcp-name"] == "add"
            assert seen["mcp-protocol-version"] == "2026-07-28"
            assert "authorization" not in seen
            assert (await client.list_tools()).ok
            assert (await client.ping()).http_status == 404

    asyncio.run(body())


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_protocol_errors_keep_code_and_data(running, era):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token=None, transport=peer.transport, era=era)
            await client.open()
            answer = await client.call("busy", device_id="phone-1")
            assert not answer.ok
            assert answer.http_status == 200
            assert answer.error.code == -32000
            assert answer.error.message == "device busy"
            assert answer.error.data == {"reason": "device_busy"}

    asyncio.run(body())


@pytest.mark.parametrize("tool", ["naïve", " edge ", "=?base64?eA==?=", "列"])
def test_modern_names_that_no_header_can_carry_arrive_whole(running, tool):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token=None, transport=peer.transport, era="modern")
            answer = await client.call(tool, a=4)
            assert answer.structured == {"sum": 4}

    asyncio.run(body())


def test_any_bytes_and_headers_can_be_sent(running):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token="t", transport=peer.transport)
            await client.open()
            assert (await client.post(b"{not json")).error.code == -32700
            assert (await client.post(b"[]")).http_status == 400
            no_session = await client.request("tools/list", {}, headers={"mcp-session-id": None})
            assert no_session.http_status == 400
            assert client.session_id != no_session.headers.get("mcp-session-id")  # the trap: that id is nobody's
            odd = await client.request("ping", id="seven")
            assert odd.message["id"] == "seven"
            wrong_accept = await client.request("ping", headers={"accept": "text/plain"})
            assert wrong_accept.http_status == 406

    asyncio.run(body())


def test_a_modern_envelope_can_be_broken_on_purpose(running):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token=None, transport=peer.transport, era="modern")
            mismatch = await client.request("tools/list", {}, headers={"mcp-method": "ping"})
            assert mismatch.http_status == 400
            assert mismatch.error.code == -32020
            wrong = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
            refused = await client.request("tools/list", wrong, headers={"mcp-protocol-version": "2099-01-01"})
            assert refused.error.code == -32022

    asyncio.run(body())


def test_cancel_ends_a_call_in_flight(running):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token=None, transport=peer.transport)
            await client.open()
            flight = client.start_call("wait")
            await peer.entered.wait()
            assert (await client.cancel(flight.request_id)).http_status == 202
            answer = await flight
            assert answer.error.code == -32800
            assert peer.cancelled == 1

    asyncio.run(body())


def test_a_dropped_call_is_gone_and_the_client_goes_on(running):
    async def body():
        async with running() as peer:
            client = McpClient(peer.url, token=None, transport=peer.transport)
            await client.open()
            flight = client.start_call("wait")
            await peer.entered.wait()
            await flight.drop()
            assert flight.task.cancelled()
            peer.gate.set()
            assert (await client.call("add", a=5)).structured == {"sum": 5}

    asyncio.run(body())
