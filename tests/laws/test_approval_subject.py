"""One request under test: where its id comes from, that it is written down, and denied when its law is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.laws.approval_subject import Approval, asking, deciders
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotApplicable

from .approval_service import ApprovalService, deploy

Story = Callable[[Target, Approval], Awaitable[None]]


class Written:
    """A journal in memory. `open`: what was opened and not closed."""

    def __init__(self) -> None:
        self.open: dict[int, dict[str, Any]] = {}
        self._numbers = 0

    def opened(self, kind: str, caller: str, names: Mapping[str, Any], session: str | None = None) -> int:
        self._numbers += 1
        self.open[self._numbers] = {"kind": kind, "caller": caller, "names": dict(names)}
        return self._numbers

    def knows(self, number: int, names: Mapping[str, Any], session: str | None) -> None:
        self.open[number]["names"] = dict(names)

    def closed(self, number: int) -> None:
        del self.open[number]


def play(service: ApprovalService, story: Story, edit: Callable[[str], str] = lambda text: text) -> Written:
    """A request of alice's, decided by boss, in a law that is over when the story is."""
    journal = Written()

    async def main(loop: VirtualLoop) -> None:
        deployment = await deploy(loop, service, edit=edit)
        deployment.journal = journal
        target = Target(deployment, "a/law")
        (boss, *_) = await deciders(target, "alice")
        (alice,) = await target.callers(1)
        async with asking(target, alice, boss) as request:
            await story(target, request)
        await target.close()

    run_virtual(main, bound_s=1000)
    return journal


def test_whose_session_is_cut_between_two_readings_has_lost_the_answer() -> None:
    """It is no error of the profile: the request may be decided all the same."""

    async def story(target: Target, request: Approval) -> None:
        request.ask()
        assert await request.seen()
        await target.sleep(0.01)
        await request.asker.vanish()
        said = await request.answered(5)
        assert said is not None
        assert (said.outcome, said.reply.lost) == ("lost", "its session was cut between two readings")

    def polled(text: str) -> str:
        poll = 'poll = { http = "GET /pending", until = [{ "/body/none" = 1 }], every_s = 1 }'
        return text.replace("request = { ", f"request = {{ {poll}, ", 1)

    play(ApprovalService(blocks=False), story, polled)


def states(service: ApprovalService) -> list[str]:
    return [one.state for one in service.asked.values()]


async def seen(target: Target, request: Approval) -> None:
    request.ask()
    assert await request.seen()


@pytest.mark.parametrize("blocks", [True, False])
def test_its_id_comes_from_whichever_shows_it_first(blocks: bool) -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)
        assert (request.id, request.blocks, request.answer is None) == ("q1", blocks, blocks)
        assert request.began.sent_s <= request.began.answered_s

    service = ApprovalService(blocks=blocks)
    play(service, story)
    assert states(service) == ["denied"]


def test_it_is_written_down_before_it_is_sent_and_until_it_is_denied() -> None:
    async def story(target: Target, request: Approval) -> None:
        journal = target.deployment.journal
        assert isinstance(journal, Written)
        assert journal.open == {}
        request.ask()
        await asyncio.sleep(0)
        (entry,) = journal.open.values()
        assert (entry["kind"], entry["caller"], entry["names"]) == ("approval", "alice", {"mark": request.mark.text})
        assert await request.seen()
        (entry,) = journal.open.values()
        assert entry["names"]["id"] == "q1"

    assert play(ApprovalService(), story).open == {}


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_what_was_decided_is_not_denied_again(decision: Any) -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)
        assert (await request.decide(request.decider, decision)).ok
        answer = await request.answered(1.0)
        assert answer is not None
        assert answer.ok == (decision == "approve")

    service = ApprovalService()
    assert play(service, story).open == {}
    assert [one.by for one in service.asked.values()] == ["boss"]


def test_it_is_denied_also_when_the_asker_and_the_decider_were_cut() -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)
        await request.asker.vanish()
        await request.decider.vanish()

    service = ApprovalService()
    assert play(service, story).open == {}
    assert states(service) == ["denied"]


def test_it_is_denied_when_the_law_is_cancelled() -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)

        async def law() -> None:
            async with asking(target, request.asker, request.decider) as other:
                await seen(target, other)
                await asyncio.sleep(100)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(law(), 1.0)

    service = ApprovalService()
    assert play(service, story).open == {}
    assert states(service) == ["denied", "denied"]


def test_what_cannot_be_denied_stays_written_down() -> None:
    def perhaps(text: str) -> str:
        return text.replace('deny = "no"', 'deny = "perhaps"')

    service = ApprovalService()
    (entry,) = play(service, seen, perhaps).open.values()
    assert (entry["names"]["id"], states(service)) == ("q1", ["pending"])


def test_decisions_are_said_in_the_words_of_the_target_and_states_read_in_ours() -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)
        said = await request.decide(request.decider, "deny")
        assert said.inputs["decision"] == "no"
        record = await request.record()
        assert (record.state, record.by) == ("denied", "boss")

    play(ApprovalService(), story)


def test_a_state_is_given_its_common_name() -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)
        assert (await request.record()).state == "expired"

    def crosswise(text: str) -> str:
        return text.replace(
            'expired = ["expired"], pending = ["pending"]', 'expired = ["pending"], pending = ["expired"]'
        )

    play(ApprovalService(), story, crosswise)


def test_a_decider_of_another_tenant_is_none() -> None:
    def elsewhere(text: str) -> str:
        return text.replace(
            '[callers.boss]\nid = "boss"\ntenant = "red"', '[callers.boss]\nid = "boss"\ntenant = "blue"'
        )

    with pytest.raises(NotApplicable, match="needs a caller that decides"):
        play(ApprovalService(), seen, elsewhere)


def test_what_an_entry_puts_out_is_known_before_the_asker_has_its_answer() -> None:
    async def story(target: Target, request: Approval) -> None:
        await seen(target, request)
        assert request.answer is None
        assert request.names["also"] == request.id
        assert not {"text", "expires"} & set(request.names)

    def edit(text: str) -> str:
        return text.replace('text = "/args",', 'text = "/args", also = "/id",')

    play(ApprovalService(blocks=True), story, edit)
