"""A borrowed session is spoken in with one's own credentials; a call between two good ones is told by what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.laws.caller import Caller
from lasttick.laws.deployment import Deployment
from lasttick.laws.profiles.load import loads
from lasttick.laws.said import Said
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotShown
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message
from lasttick.laws.wire.place import Place
from lasttick.targets.virtual import VirtualWorld

from ..targets.worlds import play
from .tool_server import ENVIRON, PROFILE, ToolServer
from .verdicts import asgi_transport

TAP = {"device_id": "phone-1", "x": 1, "y": 1}


def wires(world: VirtualWorld, url: str, *tokens: str) -> list[CallerWire]:
    headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
    return [CallerWire(Place(url=url), headers=one, transport=world.transport()) for one in headers]


def test_a_wire_goes_on_in_the_others_session() -> None:
    async def story(world: VirtualWorld) -> None:
        host = await world.hostagent(devices=["phone-1=android"])
        alice, bob = wires(world, host.url, host.token, host.token)
        assert (alice.session_id, bob.session_id) == (None, None)
        assert (await alice.open()).ok
        assert (await bob.open()).ok
        assert (await alice.send(Message("tool", "tap", args=TAP))).ok
        busy = await bob.send(Message("tool", "tap", args=TAP))
        assert busy.error["data"]["reason"] == "device_busy"
        bob.borrow(alice)
        assert bob.session_id == alice.session_id
        assert (await bob.send(Message("tool", "tap", args=TAP))).ok
        assert (await bob.end()).ok
        assert (await alice.send(Message("tool", "tap", args=TAP))).status == 404

    play(story)


def test_with_ones_own_credentials() -> None:
    async def story(world: VirtualWorld) -> None:
        host = await world.hostagent(devices=["phone-1=android"])
        alice, stranger = wires(world, host.url, host.token, "wrong")
        await alice.open()
        stranger.borrow(alice)
        assert (await stranger.send(Message("tool", "tap", args=TAP))).status == 401
        assert (await stranger.end()).status == 401
        assert (await alice.send(Message("tool", "tap", args=TAP))).ok

    play(story)


def test_a_session_without_an_id_changes_nothing() -> None:
    async def story(world: VirtualWorld) -> None:
        host = await world.hostagent(devices=["phone-1=android"])
        alice, bob = wires(world, host.url, host.token, host.token)
        await bob.open()
        before = bob.session_id
        bob.borrow(alice)
        assert bob.session_id == before is not None

    play(story)


# -- the caller, and the sandwich --------------------------------------------------------------------------------------


def on_target(story: Callable[[Target, Caller], Awaitable[None]], *faults: str) -> Target:
    """Run `story(target, alice)` on a tool server; alice's session is open."""

    async def main(loop: VirtualLoop) -> Target:
        loaded = loads(PROFILE, "lasttick.toml", ENVIRON)
        transport = asgi_transport(ToolServer(*faults).app)
        target = Target(Deployment(loaded.profile, run="t1", secrets=loaded.secrets, transport=transport), "x/y")
        (alice,) = await target.callers(1)
        await story(target, alice)
        await target.close()
        return target

    return run_virtual(main)


def test_who_borrows_ends_nothing_at_its_own_end_and_the_run_knows_of_it() -> None:
    async def story(target: Target, alice: Caller) -> None:
        bob = target.caller("bob")
        bob.borrow(alice)
        assert bob.names == alice.names != {}
        assert (await bob.say("tools.call", tool="look")).outcome == "denied"

    history = on_target(story).deployment.history
    assert [(one.verb, one.caller) for one in history] == [
        ("session.open", "alice"),
        ("session.borrow", "bob"),
        ("tools.call", "bob"),
        ("session.end", "alice"),
    ]
    assert history[1].inputs == {"of": "alice"}


def test_secrets_are_hidden_in_every_usual_form_in_what_is_shown() -> None:
    async def story(target: Target, alice: Caller) -> None:
        said: Said = await alice.say("tools.call", tool="absent")
        assert "[ALICE]" in said.shown()
        assert ENVIRON["ALICE"] not in str(target.deployment.redact(said.reply.raw))

    on_target(story, "own-token-in-error")


@pytest.mark.parametrize(
    ("faults", "outcome", "effects"),
    [((), "denied", 0), (("refuses-and-does-it",), "denied", 1), (("any-tool-for-all",), "ok", 1)],
)
def test_a_sandwich_gives_the_bad_answer_and_what_it_did(faults: tuple[str, ...], outcome: str, effects: int) -> None:
    async def story(target: Target, alice: Caller) -> None:
        bob = target.caller("bob")
        await bob.open()
        said, found = await target.sandwich(lambda: alice.call("paint"), lambda: bob.call("paint"))
        assert (said.outcome, len(found)) == (outcome, effects)

    on_target(story, *faults)


@pytest.mark.parametrize(
    ("fault", "reason"), [("refuses-all", "was not answered ok"), ("does-nothing", "did not reach the resource")]
)
def test_a_sandwich_without_good_calls_shows_nothing_but_what_the_bad_one_did(fault: str, reason: str) -> None:
    async def story(target: Target, alice: Caller) -> None:
        bob = target.caller("bob")
        await bob.open()
        with pytest.raises(NotShown, match=f"the allowed call before the refused one {reason}"):
            await target.sandwich(lambda: alice.call("paint"), lambda: bob.call("paint"))

    async def witness(target: Target, alice: Caller) -> None:
        bob = target.caller("bob")
        await bob.open()
        said, found = await target.sandwich(lambda: alice.call("paint"), lambda: bob.call("paint"))
        assert (said.outcome, len(found)) == ("denied", 1)

    on_target(story, fault)
    on_target(witness, fault, "refuses-and-does-it")


def test_the_second_good_call_may_be_another() -> None:
    async def story(target: Target, alice: Caller) -> None:
        calls: list[str] = []

        async def one(tool: str) -> Said:
            calls.append(tool)
            return await alice.call(tool)

        await target.sandwich(lambda: one("look"), lambda: one("absent"), lambda: one("paint"))
        assert calls == ["look", "absent", "paint"]

    on_target(story)
