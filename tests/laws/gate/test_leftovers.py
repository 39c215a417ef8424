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
        result: dict[str, Any] = {"protocolVersion": "2025-11-25", "content": [], "capabilities": {}}
        if isinstance(said, dict) and said.get("method") == "tools/list":
            result = {"tools": []}
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
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{lease}"}}
    (failed,) = end([lease()], Server(DELETE=500), lease=released)
    said = "the lease of alice (lease=l 1) could not be ended: HTTP 500 {}; it runs out within 20 s by itself"
    assert str(failed) == said


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_ends_a_lease_only_where_the_caller_is_known(status: int) -> None:
    """Else it is our credential that is bad, and the lease may be held for ever."""
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{lease}"}}
    (unknown,) = end([lease()], Server(DELETE=status), lease=released)
    assert f"could not be ended: HTTP {status} {{}}; it runs out within 20 s by itself" in str(unknown)
    holder = {"http": "GET /leases", "each": "/body", "out": {"resource": "/id"}}
    assert end([lease()], Server(DELETE=status), lease={**released, "holder": holder}) == [], "somebody else's by now"
    assert end([lease()], Server(DELETE=status, GET=status), lease={**released, "holder": holder}) != []
    by_tool = {**released, "use": {"tool": "use"}}
    assert end([lease()], Server(DELETE=status), lease=by_tool) == [], "it lists its tools to the caller"
    assert end([lease()], Server(DELETE=status, POST=status), lease=by_tool) != []


def test_a_refusal_by_a_rule_of_the_profile_is_about_the_lease() -> None:
    rule = {"denied": [{"/status": 403}]}
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{lease}", "outcomes": rule}}
    assert len(end([lease()], Server(DELETE=403), lease=released)) == 1, "a status that also says who one is"
    gone = {"denied": [{"/status": 418}]}
    released["release"] = {"http": "DELETE /leases/{lease}", "outcomes": gone}
    assert end([lease()], Server(DELETE=418), lease=released) == []


class Queue:
    """One request, `R1`, in a state; DELETE ends it. `refuses`: it takes nothing back."""

    def __init__(self, state: str, *, refuses: bool = False, poll_status: int = 200) -> None:
        self.state = state
        self.sent: list[tuple[str, str]] = []
        self._refuses = refuses
        self._poll_status = poll_status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.sent.append((scope["method"], scope["path"]))
        status = self._poll_status
        if scope["method"] == "DELETE":
            status = 409 if self._refuses else 200
            self.state = self.state if self._refuses else "over"
        body = {"state": self.state, "lease": "L7" if self.state == "granted" else None}
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


QUEUE = {
    "acquire": {
        "http": "POST /requests",
        "out": {"ticket": "/body/id"},
        "poll": {
            "http": "GET /requests/{ticket}",
            "until": [{"/body/state": ["granted", "over"]}],
            "out": {"lease": "/body/lease"},
            "outcomes": {"pending": [{"/body/state": "queued"}], "denied": [{"/body/state": "over"}]},
        },
    },
    "use": {"http": "POST /use"},
    "ttl_s": 20,
    "renewed_by": ["use"],
    "busy": "queues",
}
BY_TICKET = {**QUEUE, "release": {"http": "DELETE /requests/{ticket}"}}
BY_LEASE = {**QUEUE, "release": {"http": "DELETE /leases/{lease}"}}
ASKED = Entry("aaaa", 1, "lease", URL, "alice", {"ticket": "R1"})
POLL = ("GET", "/requests/R1")


def test_a_request_that_waits_is_taken_back() -> None:
    queue = Queue("queued")
    assert end([ASKED], queue, lease=BY_TICKET) == []
    assert queue.sent == [POLL, ("DELETE", "/requests/R1")]


def test_a_request_that_was_granted_meanwhile_is_released_by_what_the_poll_tells() -> None:
    queue = Queue("granted")
    assert end([ASKED], queue, lease=BY_LEASE) == []
    assert queue.sent == [POLL, ("DELETE", "/leases/L7")]


def test_a_request_that_is_over_needs_nothing() -> None:
    queue = Queue("over")
    assert end([ASKED], queue, lease=BY_TICKET) == []
    assert queue.sent == [POLL]


def test_what_still_waits_is_named() -> None:
    (refused,) = end([ASKED], Queue("queued", refuses=True), lease=BY_TICKET)
    said = "the lease of alice (ticket=R1) could not be ended: it still waits in the queue: HTTP 409"
    assert str(refused).startswith(said)
    (unsent,) = end([ASKED], Queue("queued"), lease=QUEUE)
    assert unsent.why == "it still waits in the queue, and no verb takes it back"


def test_a_poll_that_knows_nothing_any_more_does_not_end_a_lease() -> None:
    queue = Queue("over", poll_status=404)
    entry = Entry("aaaa", 1, "lease", URL, "alice", {"ticket": "R1", "lease": "L7"})
    assert end([entry], queue, lease=BY_LEASE) == []
    assert queue.sent == [POLL, ("DELETE", "/leases/L7")]


def test_a_request_of_which_nothing_is_known_is_named() -> None:
    (unknown,) = end([Entry("aaaa", 1, "lease", URL, "alice")], Queue("queued"), lease=BY_LEASE)
    assert "what came of its request is not known, so its release cannot be sent: " in str(unknown)
    assert "{lease} has no value here" in str(unknown)


def test_without_an_answer_nothing_has_ended() -> None:
    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("refused")

    (left,) = end([session()], Silent(), lease=LEASE)
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


@pytest.mark.parametrize("status", [200, 500])
def test_what_cannot_be_ended_stays_written_down(status: int, tmp_path: Path) -> None:
    released = {**LEASE, "use": {"http": "POST /use"}, "release": {"http": "DELETE /leases/{lease}"}}
    document = {"version": 1, "target": {"url": URL}, "callers": CALLERS, "lease": released}
    path = journal_file(tmp_path / "lasttick.toml")

    async def run() -> list[Left]:
        deployment = Deployment(
            Profile.model_validate(document), run="t", transport=httpx.ASGITransport(Server(DELETE=status))
        )
        deployment.journal = JournalFile(path, "t", URL, deployment.redact)
        deployment.journal.opened("lease", "alice", {"lease": "l 1"})
        return await end_all(deployment)

    left = asyncio.run(run())
    assert [one.entry for one in left] == read_journal(path)
    assert len(left) == (status == 500)


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
