"""A lease under test: who may hold it, what is asked for, and how it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.laws.caller import Caller
from lasttick.laws.deployment import NoJournal
from lasttick.laws.gate.journal import Entry, JournalFile, journal_file, read_journal
from lasttick.laws.subject import Subject
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotShown, Unfound

from .lease_service import TTL_S, LeaseService, deploy
from .playing import trace_on

Story = Callable[[Target, Subject, Caller, Caller], Awaitable[None]]
LAG_S = 1.0


def play(story: Story, service: LeaseService) -> None:
    async def main(loop: VirtualLoop) -> None:
        target = Target(await deploy(loop, service), "lease/x", trace_on(VirtualClock(loop)))
        alice, bob = await target.callers(2)
        await story(target, Subject(target, ""), alice, bob)
        await target.close()

    run_virtual(main)


class Written(NoJournal):
    """A journal that tells whose leases are open."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[str, str]] = {}
        self._number = 0

    def opened(self, kind: str, caller: str, names: Mapping[str, Any], session: str | None = None) -> int:
        self._number += 1
        self._open[self._number] = (kind, caller)
        return self._number

    def closed(self, number: int) -> None:
        self._open.pop(number, None)

    @property
    def open_leases(self) -> list[str]:
        return [caller for kind, caller in self._open.values() if kind == "lease"]


def leases(service: LeaseService) -> dict[str, list[str]]:
    """Resources held now, by whom."""
    held: dict[str, list[str]] = {}
    for lease in service.leases.values():
        if service.is_held(lease):
            held.setdefault(service.sessions.get(lease.session, "nobody"), []).append(lease.resource)
    return held


def test_the_first_holder_takes_all_there_is_and_a_contender_asks_for_one() -> None:
    service = LeaseService(capacity=3)

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        assert (await subject.acquire(alice)).ok
        assert leases(service) == {"alice": ["r1", "r2", "r3"]}
        assert [lease["resource"] for lease in subject.told(alice)] == ["r1", "r2", "r3"]
        await target.sleep(TTL_S)
        assert (await subject.acquire(bob)).ok
        assert leases(service) == {"bob": ["r1"]}
        assert subject.holder is bob
        assert subject.resource == "r1"

    play(story, service)


def test_a_capacity_that_is_not_there_shows_nothing() -> None:
    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        target.deployment.profile = target.deployment.profile.model_copy(
            update={"lease": target.lease.model_copy(update={"capacity": 2})}
        )
        with pytest.raises(NotShown, match="declared capacity is refused to its only user"):
            await subject.acquire(alice)

    play(story, LeaseService())


def test_given_up_is_what_anybody_may_still_hold() -> None:
    service = LeaseService(busy="provisions")

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        await subject.acquire(bob)
        assert leases(service) == {"alice": ["r4"], "bob": ["r7"]}
        assert await subject.give_up() == 0.0
        assert leases(service) == {}

    play(story, service)


def test_what_cannot_be_given_back_is_free_when_its_ttl_must_be_over() -> None:
    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        await target.sleep(5.0)
        await alice.vanish()
        assert await subject.give_up() == TTL_S + LAG_S

    play(story, LeaseService())


def test_a_call_that_is_lost_may_have_renewed_it() -> None:
    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        call = asyncio.create_task(subject.use(alice, hold_s=10.0))
        await target.sleep(5.0)
        await alice.vanish()
        assert (await call).outcome == "lost"
        assert await subject.give_up() == 10.0 + TTL_S + LAG_S

    play(story, LeaseService(renewed_by=["use"]))


def test_what_should_have_run_out_is_given_back_all_the_same() -> None:
    """Only the declared TTL says that it is over: a server that forgets to end leases would keep it for good."""
    service = LeaseService("never expires")

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        await target.sleep(TTL_S + LAG_S)
        assert leases(service) == {"alice": ["r1"]}
        assert await subject.give_up() == 0.0
        assert leases(service) == {}

    play(story, service)


def test_a_refused_release_of_what_ran_out_leaves_nothing_written_down() -> None:
    journal = Written()

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        target.deployment.journal = journal
        await subject.acquire(alice)
        await target.sleep(TTL_S + LAG_S)
        await subject.acquire(bob)
        await alice.end()
        await alice.again()
        assert await subject.give_up() == 0.0
        releases = [said for said in target.deployment.history if said.verb == "lease.release"]
        assert [(said.caller, said.outcome) for said in releases] == [("bob", "ok"), ("alice", "denied")]
        assert journal.open_leases == []

    play(story, LeaseService(session_end="keeps"))


def test_what_may_still_be_held_stays_written_down() -> None:
    """Its holder vanished, so nobody here can say it: the end of the run does, or names it."""
    journal = Written()

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        target.deployment.journal = journal
        await subject.acquire(alice)
        await alice.vanish()
        await target.sleep(TTL_S + LAG_S)
        assert await subject.give_up() <= target.now_s
        assert journal.open_leases == ["alice"]

    play(story, LeaseService())


def test_without_sessions_who_vanished_can_still_give_it_back() -> None:
    service = LeaseService("never expires")

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        profile = target.deployment.profile
        names = {"vars": {"session": alice.names["session"]}}
        target.deployment.profile = profile.model_copy(
            update={
                "session": profile.session.model_copy(update={"open": None, "end": None}),
                "callers": {**profile.callers, "alice": profile.callers["alice"].model_copy(update=names)},
            }
        )
        alice.spec = target.deployment.profile.callers["alice"]
        target.deployment._ways.clear()
        await alice.vanish()
        assert await subject.give_up() == 0.0
        assert leases(service) == {}

    play(story, service)


def test_a_poll_says_when_it_last_found_nothing_decided() -> None:
    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        first = await subject.acquire(alice)
        assert (first.ok, first.pending_s) == (True, None)
        queued = await subject.acquire(bob)
        assert queued.ok
        assert queued.pending_s is not None
        assert TTL_S - 0.15 < queued.pending_s < TTL_S, "polled every 0.1 s"
        assert TTL_S <= queued.answered_s < TTL_S + 0.15
        assert queued.sent_s == 0.0

    play(story, LeaseService(busy="queues"))


# -- requests that are not decided


def followed(story: Story, service: LeaseService, tmp_path: Path, edit: Callable[[str], str]) -> list[Entry]:
    """What is open in the journal afterwards, before anybody looks at the journal itself."""
    path = journal_file(tmp_path / "lasttick.toml")

    async def main(loop: VirtualLoop) -> None:
        deployment = await deploy(loop, service, edit=edit)
        deployment.journal = JournalFile(path, "t", "here", deployment.redact)
        target = Target(deployment, "lease/x", trace_on(VirtualClock(loop)))
        alice, bob = await target.callers(2)
        subject = Subject(target, "")
        await story(target, subject, alice, bob)
        await subject.give_up()
        await target.close()

    run_virtual(main)
    return [entry for entry in read_journal(path) if entry.kind == "lease"]


def test_a_request_is_written_down_before_it_is_sent_and_gone_when_it_is_refused(tmp_path: Path) -> None:
    seen: list[list[Entry]] = []
    path = journal_file(tmp_path / "lasttick.toml")

    class Looking(LeaseService):
        async def acquire(self, request: Any) -> Any:
            seen.append([entry for entry in read_journal(path) if entry.kind == "lease"])
            return await super().acquire(request)

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        assert (await subject.acquire(bob)).outcome == "busy"

    assert followed(story, Looking(), tmp_path, str) == []
    assert [[entry.caller for entry in entries] for entries in seen] == [["alice"], ["alice", "bob"]]
    assert "ticket" in seen[1][0].names
    assert "lease" in seen[1][0].names


def within_a_second(text: str) -> str:
    return text.replace("within_s = 60", "within_s = 1")


def test_a_request_that_waits_at_the_end_is_looked_at_once_more_and_given_back(tmp_path: Path) -> None:
    service = LeaseService(busy="queues")

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        assert (await subject.acquire(bob)).outcome == "pending"
        assert service.queue != []

    assert followed(story, service, tmp_path, within_a_second) == []
    assert leases(service) == {}
    assert service.queue == []


def test_a_request_that_still_waits_stays_written_down(tmp_path: Path) -> None:
    service = LeaseService(busy="queues", wrong="release does nothing")

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        await subject.acquire(bob)

    (entry,) = followed(story, service, tmp_path, within_a_second)
    assert (entry.caller, sorted(entry.names)) == ("bob", ["resource", "session", "ticket"])


def test_a_granted_lease_whose_pointer_finds_nothing_stays_written_down(tmp_path: Path) -> None:
    """It is said as what it is, with the place, and not as a crash; what other pointers found is known."""

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        target.deployment.locate = lambda path: "lasttick.toml:7 " + ".".join(map(str, path))
        with pytest.raises(Unfound) as raised:
            await subject.acquire(alice)
        lines = str(raised.value).splitlines()
        assert lines[0].startswith("lasttick.toml:7 lease.acquire.poll.out.lease: lease = /body/nope finds nothing")
        assert "the reply to lease.acquire was HTTP 200" in lines[0]
        assert [line.partition(":")[0] for line in lines[1:]] == ["  expected", "  next"]

    service = LeaseService()
    (entry,) = followed(story, service, tmp_path, lambda text: text.replace('"/body/lease"', '"/body/nope"'))
    assert (entry.caller, entry.names["resource"]) == ("alice", "r1")
    assert "ticket" in entry.names


def test_a_request_whose_answer_was_lost_stays_written_down(tmp_path: Path) -> None:
    class Slow(LeaseService):
        async def acquire(self, request: Any) -> Any:
            granted = await super().acquire(request)
            await asyncio.sleep(30)
            return granted

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        assert (await subject.acquire(alice)).outcome == "lost"

    (entry,) = followed(story, Slow(), tmp_path, str)
    assert entry.caller == "alice"


def test_who_is_interrupted_while_waiting_waits_no_longer(tmp_path: Path) -> None:
    """The run ends: only the first answer was needed, to know what there is to give back."""
    service = LeaseService(busy="queues")

    async def story(target: Target, subject: Subject, alice: Caller, bob: Caller) -> None:
        await subject.acquire(alice)
        waiting = asyncio.create_task(subject.acquire(bob))
        await target.sleep(2.0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert target.now_s == 2.0

    assert followed(story, service, tmp_path, str) == []
    assert leases(service) == {}
    assert service.queue == []
