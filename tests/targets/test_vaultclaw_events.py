"""What the fake vault tells of itself is in the trace, with the instant at which it happened beside the telling."""

from __future__ import annotations

from typing import Any

from lasttick.targets.vaultclaw.process import ProcessFake

from .worlds import play, told

MAIL = {"connector_id": "google", "verb": "google.gmail.messages.send"}


def test_an_expiry_that_is_seen_later_keeps_its_own_instant() -> None:
    async def story(world: Any) -> None:
        vaultd = await world.vaultd()
        acme = (await world.vaultclaw()).client("acme")
        await acme.configure()
        await vaultd.control("PUT", "/control/policies", {"verbs": {MAIL["verb"]: "ask"}, "approval_ttl_s": 5})
        await acme.call("connector_execute_job", request={**MAIL, "request": {"to": ["a@example.com"]}})
        await world.advance(60)
        assert (await acme.call("job_get", job_id="job_1")).data["job"]["status"] == "DENIED"

    events = told(play(story), "vault.approval")
    seen = [(event.data["state"], event.data["at_ns"], event.t_ns) for event in events]
    assert seen == [("WAITING", 0, 0), ("EXPIRED", 5_000_000_000, 60_000_000_000)]


def test_a_request_of_a_process_is_at_its_time_and_the_log_stays_whole() -> None:
    line = {"seq": 1, "t_ns": 7, "method": "GET", "path": "/v0/connectors", "body": ""}
    fake = ProcessFake(None, "vaultd", [], None, None)  # type: ignore[arg-type]
    fake.past = [line]
    (event,) = fake.lines("vaultd", None)
    assert (event["t_ns"], event["kind"]) == (7, "vault.request")
    assert "t_ns" not in event["data"]
    assert fake.past == [{"seq": 1, "t_ns": 7, "method": "GET", "path": "/v0/connectors", "body": ""}]
