"""Requests for approval that a run has left: denied by who may decide them, or named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.journal import Entry
from lasttick.laws.gate.leftovers import Left, end_leftovers
from lasttick.laws.profiles.load import loads

from ..approval_service import ApprovalService, Asked, profile_of

URL = "http://127.0.0.1:7"
MARK = "lt-old-alice-1"


def end(service: ApprovalService, edit: Callable[[str], str] = lambda text: text, **names: Any) -> list[Left]:
    """One request of alice's waits; `names`: what the journal knows of it."""

    async def run() -> list[Left]:
        for number in (1, 2):
            args = {"mark": MARK if number == 1 else "somebody-else"}
            service.asked[f"q{number}"] = Asked(f"q{number}", "alice", args, service.now_s + 60)
        loaded = loads(edit(profile_of(service, URL)), "service.toml", {})
        transport = httpx.ASGITransport(service.app)
        deployment = Deployment(loaded.profile, run="t", secrets=loaded.secrets, transport=transport)
        return await end_leftovers(deployment, [Entry("aaaa", 1, "approval", URL, "alice", names, None)])

    return asyncio.run(run())


def states(service: ApprovalService) -> list[tuple[str, str | None]]:
    return [(one.state, one.by) for one in service.asked.values()]


def test_it_is_denied_by_a_decider_of_its_tenant() -> None:
    for names in ({"id": "q1", "mark": MARK}, {"id": "q1"}, {"mark": MARK}):
        service = ApprovalService(blocks=False)
        assert end(service, **names) == []
        assert states(service) == [("denied", "boss"), ("pending", None)], names


def test_what_waits_no_more_needs_nothing() -> None:
    for names in ({"id": "q9", "mark": "lt-old-alice-9"}, {"mark": "lt-old-alice-9"}):
        service = ApprovalService(blocks=False)
        assert end(service, **names) == []
        assert states(service) == [("pending", None), ("pending", None)]


def test_without_a_list_the_id_is_enough() -> None:
    service = ApprovalService(blocks=False)
    assert end(service, unlisted, id="q1") == []
    assert states(service)[0] == ("denied", "boss")


def test_what_cannot_be_denied_is_named() -> None:
    service = ApprovalService(blocks=False)
    (left,) = end(service, unlisted, mark=MARK)
    assert "{id} has no value here" in str(left)
    assert "it runs out within 20 s by itself" in str(left)
    (left,) = end(service, lambda text: text.replace("decides = true", ""), id="q1")
    assert "no caller any more that may decide it" in str(left)
    (left,) = end(service, lambda text: text.replace('deny = "no"', 'deny = "perhaps"'), id="q1")
    assert "yes or no" in str(left)
    assert states(service)[0] == ("pending", None)


def unlisted(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("pending = {"))
