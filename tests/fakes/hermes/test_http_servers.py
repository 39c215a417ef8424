"""Does the fake speak MCP over HTTP in the recorded order, and meet a lost session as each version does?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick_fakes.hermes import HABITS
from lasttick_fakes.model import Call, Say

from .bench import Bench, on_bench, text

BOTH = pytest.mark.parametrize("version", sorted(HABITS))
SERVER = """  dev:
    url: http://dev/mcp
    headers: {Authorization: "Bearer ${DEVICE_TOKEN}"}
mcp_discovery_timeout: 30
"""
ARGV = ("hermes", "chat", "-Q", "-t", "dev", "-q")


class Server:
    """A Streamable HTTP server that keeps what it was sent. `head`: status and content type of HEAD."""

    def __init__(self, *, head: tuple[int, str] = (405, "application/json"), sse: bool = True) -> None:
        self.head = head
        self.sse = sse
        self.seen: list[tuple[str, str | None, dict[str, Any] | None]] = []
        """Method, session id, body."""
        self.headers: list[dict[str, str]] = []
        self.sessions: list[str] = []
        self.made = 0
        self.refuse: int | None = None
        self.forget_on_call: int | None = None
        self.calls = 0
        self.closed_streams = 0
        self.probes: int = 200

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raw = await receive()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = json.loads(raw["body"]) if raw["body"] else None
        session = headers.get("mcp-session-id")
        self.seen.append((scope["method"], session, body))
        self.headers.append(headers)
        if scope["method"] == "HEAD" or (scope["method"] == "GET" and session is None):
            return await self._say(send, *self.head)
        if body is not None and body.get("id") == "_probe":
            return await self._say(send, self.probes, "text/event-stream")
        if self.refuse is not None:
            return await self._say(send, self.refuse, "application/json")
        if body is not None and body.get("method") == "tools/call":
            self.calls += 1
            if self.calls == self.forget_on_call:
                self.sessions.clear()
        if body is not None and body["method"] == "initialize":
            self.made += 1
            self.sessions.append(f"s{self.made}")
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}
            return await self._result(send, body["id"], about, session=f"s{self.made}")
        if session not in self.sessions:
            return await self._say(send, 404, "application/json")
        if scope["method"] == "GET":
            await self._say(send, 200, "text/event-stream", more=True)
            await receive()
            self.closed_streams += 1
            return None
        if scope["method"] == "DELETE":
            self.sessions.remove(session)
            return await self._say(send, 200, "application/json")
        assert body is not None
        if "id" not in body:
            return await self._say(send, 202, "application/json")
        results: dict[str, Any] = {"tools/list": {"tools": [{"name": "tap"}]}, "tools/call": text("tapped")}
        return await self._result(send, body["id"], results[body["method"]])

    async def _result(self, send: Any, number: Any, result: Any, session: str | None = None) -> None:
        message = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        if self.sse:
            note = b'event: message\r\ndata: {"method": "notifications/x"}\r\n\r\n'
            body, kind = note + b"event: message\r\ndata: " + message + b"\r\n\r\n", "text/event-stream"
        else:
            body, kind = message, "application/json"
        await self._say(send, 200, kind, body=body, session=session)

    async def _say(
        self, send: Any, status: int, kind: str, *, body: bytes = b"", session: str | None = None, more: bool = False
    ) -> None:
        headers = [(b"content-type", kind.encode())]
        headers += [] if session is None else [(b"mcp-session-id", session.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": more})

    def order(self) -> list[str]:
        """`METHOD session rpc-method` of each request."""
        return [
            f"{method} {session or '-'} {(body or {}).get('method', '')}".strip() for method, session, body in self.seen
        ]


@BOTH
@pytest.mark.parametrize("sse", [True, False])
def test_a_session_goes_in_the_recorded_order(version: str, sse: bool) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.config(SERVER)
        bench.env["DEVICE_TOKEN"] = "t-1"
        server = Server(sse=sse)
        bench.network.serve("dev:80", server)
        bench.model.script("tap", Call((("tap", {"x": 1}), ("tap", {"x": 2}))), Say("{results}"))
        finished = await bench.run(argv=(*ARGV, "tap"))
        assert finished.stdout == "tapped tapped\n"
        assert server.order() == [
            "HEAD -",
            "GET -",
            "POST - initialize",
            "POST s1 notifications/initialized",
            "GET s1",
            "POST s1 tools/list",
            "POST s1 tools/call",
            "POST s1 tools/call",
            "DELETE s1",
        ]
        assert [body["id"] for _, _, body in server.seen if body and "id" in body] == [0, 1, 2, 3]
        assert {headers["authorization"] for headers in server.headers} == {"Bearer t-1"}
        assert "mcp-protocol-version" not in server.headers[0]
        assert server.headers[0]["accept"] == "*/*"
        assert {headers["mcp-protocol-version"] for headers in server.headers[2:]} == {"2025-11-25"}
        assert server.headers[2]["accept"] == "application/json, text/event-stream"
        assert server.headers[4]["accept"] == "text/event-stream"
        assert server.closed_streams == 1

    on_bench(story)


@BOTH
def test_an_unset_token_arrives_as_its_literal(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.config(SERVER)
        server = Server()
        bench.network.serve("dev:80", server)
        await bench.run(argv=(*ARGV, "hello"))
        assert {headers["authorization"] for headers in server.headers} == {"Bearer ${DEVICE_TOKEN}"}

    on_bench(story)


@BOTH
def test_a_wrong_token_is_tried_four_times_and_the_run_goes_on_without_tools(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.config(SERVER)
        server = Server(head=(401, "application/json"))
        server.refuse = 401
        bench.network.serve("dev:80", server)
        finished = await bench.run(argv=(*ARGV, "hello"))
        assert finished.stdout == "plain answer\n"
        assert server.order() == ["HEAD -", *["POST - initialize"] * 4]
        assert bench.tools() is None
        assert bench.loop.time() == 7

    on_bench(story)


@pytest.mark.parametrize(
    ("version", "probes", "skip", "order"),
    [
        ("0.17.0", 200, False, ["HEAD -"]),
        ("0.19.0", 200, False, ["HEAD -", "POST - initialize", "POST - initialize"]),
        ("0.19.0", 404, False, ["HEAD -", "POST - initialize"]),
        ("0.19.0", 200, True, ["POST - initialize"]),
    ],
)
def test_a_page_instead_of_an_endpoint(version: str, probes: int, skip: bool, order: list[str]) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.config(SERVER.replace("headers:", "skip_preflight: true\n    headers:") if skip else SERVER)
        server = Server(head=(200, "text/html"))
        server.probes = probes
        bench.network.serve("dev:80", server)
        finished = await bench.run(argv=(*ARGV, "hello"))
        assert finished.stdout == "plain answer\n"
        accepted = order[-2:] == ["POST - initialize"] * 2 or skip
        assert server.order()[: len(order)] == order
        assert (bench.tools() is not None) == accepted
        assert accepted or len(server.seen) == len(order)
        if len(order) > 1:
            probe = server.seen[1][2]
            assert probe is not None
            assert probe["params"]["clientInfo"]["name"] == "hermes-probe"

    on_bench(story)


def test_the_newer_one_makes_a_lost_call_again_in_a_new_session() -> None:
    async def story(bench: Bench) -> None:
        bench.config(SERVER)
        server = Server()
        server.forget_on_call = 2
        bench.network.serve("dev:80", server)
        bench.model.script("tap", Call.one("tap", x=1), Call.one("tap", x=2), Call.one("tap", x=3), Say("{results}"))
        assert (await bench.run(argv=(*ARGV, "tap"))).stdout == "tapped tapped tapped\n"
        assert server.order()[6:] == [
            "POST s1 tools/call",
            "POST s1 tools/call",
            "DELETE s1",
            "POST - initialize",
            "POST s2 notifications/initialized",
            "GET s2",
            "POST s2 tools/list",
            "POST s2 tools/call",
            "POST s2 tools/call",
            "DELETE s2",
        ]

    on_bench(story)


def test_the_older_one_loses_two_calls_and_has_a_new_session_a_second_later() -> None:
    async def story(bench: Bench) -> None:
        bench.version = "0.17.0"
        bench.config(SERVER)
        server = Server()
        server.forget_on_call = 1
        bench.network.serve("dev:80", server)
        late = Call.one("tap", after_s=2)
        bench.model.script("tap", Call.one("tap"), Call.one("tap"), late, Say("{results}"))
        lost = "MCP call failed: McpError: Session terminated"
        assert (await bench.run(argv=(*ARGV, "tap"))).stdout == f"{lost} {lost} tapped\n"
        assert [one for one in server.order() if "call" in one] == ["POST s1 tools/call"] * 2 + ["POST s2 tools/call"]
        assert server.sessions == []

    on_bench(story)


@BOTH
def test_a_server_that_goes_down_during_a_call_is_a_failed_call(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.config(SERVER)
        site = bench.network.serve("dev:80", Server())
        bench.model.script("tap", Say("unused"))
        bench.model.script("tap", Call.one("tap", after_s=5), Say("{result}"))
        bench.loop.call_at(2, site.cut)
        finished = await bench.run(argv=(*ARGV, "tap"))
        assert finished.returncode == 0
        assert finished.stdout.startswith("MCP call failed: OSError: ConnectError")

    on_bench(story)
