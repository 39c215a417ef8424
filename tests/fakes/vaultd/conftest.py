"""A vault on the virtual clock, and plain HTTP clients with tokens, over the in-memory network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.targets.transports import memory_transport
from lasttick_fakes.vaultd import VaultDaemon, VaultState

MAIL = {"to": ["a@example.com"], "subject": "lt-mark", "text_plain": "hello"}
SEND = "google.gmail.messages.send"


class Bench:
    """One daemon at `vault:80`, its events, and a client without a token."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.network = Network()
        self.http = httpx.AsyncClient(transport=memory_transport(self.network), base_url="http://vault")
        self.start()

    def start(self, state: VaultState | None = None) -> None:
        """A daemon in place of the one before."""
        self.vault = VaultDaemon(self.clock, state=state, on_event=lambda kind, data: self.events.append((kind, data)))
        self.site = self.network.serve("vault:80", self.vault)

    async def until(self, t_s: float) -> None:
        await asyncio.sleep(t_s - self.loop.time())

    async def call(
        self, method: str, path: str, body: Any = None, *, token: str = "vc-agent", key: str | None = None, **more: Any
    ) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}", **more.pop("headers", {})}
        headers |= {} if key is None else {"idempotency-key": key}
        given = {} if body is None else {"json": body}
        return await self.http.request(method, path, headers=headers, **given, **more)

    async def get(self, path: str, **more: Any) -> Any:
        return (await self.ok("GET", path, **more)).json()

    async def ok(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        answer = await self.call(method, path, body, **more)
        assert answer.status_code == 200, answer.text
        return answer

    async def refused(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, str]:
        """Status and code of a call that is refused in three parts."""
        answer = await self.call(method, path, body, **more)
        error = answer.json()["error"]
        assert "; expected" in error["message"], error
        return answer.status_code, error["code"]

    async def put(self, path: str, body: Any) -> None:
        await self.ok("PUT", f"/control/{path}", body)

    async def request(self, verb: str = SEND, connector_id: str = "google", **inner: Any) -> dict[str, Any]:
        """A request that validates, with the connector's hash."""
        hash_ = (await self.get(f"/v0/connectors/{connector_id}"))["policy_hash"]
        given = inner or MAIL
        return {"connector_id": connector_id, "verb": verb, "request": given, "module_hash": hash_}

    async def ask(self, *, token: str = "vc-agent", **inner: Any) -> dict[str, Any]:
        """A job that waits for a person."""
        body = await self.request(**inner)
        job = (await self.ok("POST", "/v0/connectors/execute-job", body, token=token)).json()["job"]
        assert job["status"] == "PENDING", job
        return job

    async def job(self, job_id: str, **more: Any) -> dict[str, Any]:
        return (await self.get(f"/v0/jobs/{job_id}", **more))["job"]

    async def items(self, query: str = "", **more: Any) -> list[dict[str, Any]]:
        return (await self.get(f"/v0/connectors/approvals/pending{query}", **more))["items"]

    def decision(self, job: dict[str, Any], decision: str) -> dict[str, Any]:
        asked = job["pending_approval"]
        challenge_id = asked["challenge"]["challenge_id"]
        return {"challenge_id": challenge_id, "pending_id": asked["pending_id"], "decision": decision}

    async def decide(self, job: dict[str, Any], decision: str, *, token: str = "vc-approver") -> httpx.Response:
        path = "/v0/connectors/approvals/decide"
        return await self.call("POST", path, self.decision(job, decision), token=token)


@pytest.fixture
def run() -> Callable[..., None]:
    """`run(story)`: the async test body gets a bench in virtual time."""

    def runner(story: Callable[[Bench], Any]) -> None:
        async def main(loop: VirtualLoop) -> None:
            bench = Bench(loop)
            async with bench.http:
                await story(bench)

        run_virtual(main, bound_s=40 * 86_400)

    return runner
