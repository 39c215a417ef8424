"""What is sent to end what a run has left, and what is said of that which cannot be ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.beginning import end_all
from lasttick.laws.gate.journal import Entry, JournalFile, journal_file, read_journal
from lasttick.laws.gate.leftovers import Left, end_leftovers
from lasttick.laws.profiles.loaded import Loaded
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.target import Target

URL = "http://127.0.0.1:7/mcp"
CALLERS = {"alice": {"headers": {"Authorization": "Bearer a"}}}
LEASE = {"acquire": {"same": "lease.use"}, "use": {"tool": "use"}, "ttl_s": 20, "renewed_by": ["use"]}


class Server:
    """Speaks just enough MCP; every request is kept. `answers`: status by "METHOD path"."""

    def __init__(self, **answers: int) -> None:
        self.seen: list[tuple[str, str, str | None, Any]] = []
        self._answers = answers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        said = json.loads(body) if body else None
        self.seen.append((scope["method"], scope["path"], headers.get("mcp-session-id"), said))
        result = {"protocolVersion": "2025-11-25", "content": [], "capabilities": {}}
        answer = {"jsonrpc": "2.0", "id": said.get("id"), "result": result} if isinstance(said, dict) else {}
        status = self._answers.get(scope["method"], 200)
        named = [(b"mcp-session-id", b"new")] if isinstance(said, dict) and said.get("method") == "initialize" else []
        head = [(b"content-type", b"application/json"), *named]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    @property
    def sent(self) -> list[tuple[str, str, str | None]]:
        """Method or tool, path, session."""
        return [
            (said["params"]["name"] if said and said["method"] == "tools/call" else method, path, session)
            for method, path, session, said in self.seen
            if said is None or said["method"] == "tools/call"
        ]


def end(entries: Sequence[Entry], server: Any, *, target: dict[str, Any] | None = None, **sections: Any) -> list[Left]:
    document = {"version": 1, "target": target or {"url": URL}, "callers": CALLERS, **sections}

    async def run() -> list[Left]:
        transport = httpx.ASGITransport(server) if callable(server) else server
        deployment = Deployment(Profile.model_validate(document), run="t", transport=transport)
        return await end_leftovers(deployment, entries)

    return asyncio.run(run())


def session(**more: Any) -> Entry:
    return Entry("aaaa", 1, "session", URL, "alice", **{"session": "s1", **more})


def lease(**more: Any) -> Entry:
    return Entry("aaaa", 2, "lease", URL, "alice", **{"names": {"lease": "l 1"}, "session": "s1", **more})


def test_a_session_is_deleted_by_its_id() -> None:
    server = Server()
    assert end([session()], server, lease=LEASE) == []
    assert server.sent == [("DELETE", "/mcp", "s1")]


def test_a_lease_that_ends_with_its_session_needs_nothing_of_its_own() -> None:
    server = Server()
    assert end([lease(), session()], server, lease={**LEASE, "release": {"same": "session.end"}}) == []
    assert server.sent == [("DELETE", "/mcp", "s1")]


def test_a_lease_goes_before_its_session_and_in_it() -> None:
    server = Server()
    released = {**LEASE, "release": {"tool": "give_back", "args": {"lease": "{lease}"}}}
    assert end([session(), lease()], server, lease=released) == []
    assert server.sent == [("give_back", "/mcp", "s1"), ("DELETE", "/mcp", "new"), ("DELETE", "/mcp", "s1")]


def test_a_lease_over_http_by_what_was_put_out() -> None:
    server = Server()
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{lease}"}}
    assert end([lease(session=None)], server, lease=released) == []
    assert server.sent == [("DELETE", "/leases/l 1", None)]


@pytest.mark.parametrize("status", [200, 204, 404, 410])
def test_what_the_target_does_not_know_any_more_has_ended(status: int) -> None:
    assert end([session()], Server(DELETE=status), lease=LEASE) == []


def test_what_is_refused_or_fails_is_said() -> None:
    (refused,) = end([session()], Server(DELETE=401), lease=LEASE)
    assert str(refused) == "the session of alice could not be ended: HTTP 401 {}"
    assert not refused.again
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{lease}"}}
    assert end([lease()], Server(DELETE=403), lease=released) == [], "somebody else's by now"
    (failed,) = end([lease()], Server(DELETE=500), lease=released)
    said = "the lease of alice (lease=l 1) could not be ended: HTTP 500 {}; it runs out within 20 s by itself"
    assert str(failed) == said
    assert not failed.again


def test_without_an_answer_a_later_try_may_do_it() -> None:
    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("refused")

    (left,) = end([session()], Silent(), lease=LEASE)
    assert left.again
    assert "refused" in left.why


def test_nothing_is_sent_where_nothing_can_be_open() -> None:
    server = Server()
    command = {"command": ["true"]}
    assert end([session()], server, target=command, lease=LEASE) == [], "it ended with its process"
    assert end([session(session=None)], server, lease=LEASE) == [], "the server gives no ids, or was never asked"
    assert end([lease()], server, lease=LEASE) == [], "no verb gives it back"
    assert server.seen == []


def test_a_caller_or_a_name_that_is_not_there_any_more() -> None:
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{other}"}}
    entry = Entry("aaaa", 1, "session", URL, "dave", session="s1")
    (unknown,) = end([entry], Server(), lease=LEASE)
    assert unknown.why == "the profile has no such caller any more"
    (unnamed,) = end([lease()], Server(), lease=released)
    assert "{other} has no value here" in unnamed.why


def test_a_target_is_named_by_its_address_or_its_command() -> None:
    def place(**secrets: str) -> str:
        return Loaded(profile, "lasttick.toml", "", secrets).place

    profile = Profile.model_validate({"version": 1, "target": {"url": URL}})
    assert place() == URL
    profile = Profile.model_validate({"version": 1, "target": {"command": ["a b", "c", "--key=hunter-22"]}})
    assert place() == "'a b' c --key=hunter-22"
    assert place(KEY="hunter-22") == "'a b' c '--key=[KEY]'"


def test_every_session_of_a_run_is_ended_also_of_those_who_vanished(tmp_path: Path) -> None:
    """Two callers open a session each; one vanishes and comes again, and nobody says goodbye."""
    server = Server()
    document = {"version": 1, "target": {"url": URL}, "callers": {**CALLERS, "bob": {}}, "lease": LEASE}

    async def run() -> list[Left]:
        profile = Profile.model_validate(document)
        deployment = Deployment(profile, run="t", transport=httpx.ASGITransport(server))
        path = journal_file(tmp_path / "lasttick.toml")
        deployment.journal = JournalFile(path, "t", URL, deployment.redact)
        alice, _ = await Target(deployment, "a/law").callers(2)
        await alice.vanish()
        await alice.again()
        assert len(read_journal(path)) == 3
        left = await end_all(deployment)
        assert read_journal(path) == []
        return left

    assert asyncio.run(run()) == []
    methods = [said["method"] if said else method for method, _, _, said in server.seen]
    assert methods.count("initialize") == methods.count("DELETE") == 3
