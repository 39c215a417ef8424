"""What a page is told and when: streams of the console on a virtual clock, with readers that read, leave or stall."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.hostagent import console_events
from lasttick.reference.hostagent.console_board import Sight
from lasttick.reference.hostagent.console_events import Events, Stream, event, pause_ns
from lasttick.reference.hostagent.console_sessions import SESSION_NS, ConsoleSessions

S = 1_000_000_000


class Reader:
    """A browser at the other end. `stalled`: it does not read, so that sending to it never ends."""

    def __init__(self, stalled: bool = False) -> None:
        self.left = asyncio.Event()
        self.stalled = stalled
        self.chunks: list[tuple[int, str]] = []
        self.complete = False
        self.clock: Any = None

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            self.chunks.append((self.clock.now_ns(), message["body"].decode()))
            self.complete = not message["more_body"]
            if self.stalled:
                await asyncio.Event().wait()

    @property
    def events(self) -> list[tuple[float, str]]:
        said = [(t / S, text.removeprefix("event: ").partition("\n")[0]) for t, text in self.chunks]
        return [(t_s, name) for t_s, name in said if name in ("board", "alive", "over")]


class Site:
    """The events of a console that looks at `key`; every look that was taken is counted."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.clock = VirtualClock(loop)
        self.key: Any = "nothing"
        self.next_ns: int | None = None
        self.looks = 0
        self.takes_s = 0.0
        self.breaks = False
        self.tasks: list[asyncio.Task[None]] = []
        self.sessions = ConsoleSessions(
            self.clock, Chance(1), lambda session, why: self.events.session_ended(session, why)
        )
        self.events = Events(sight=self.look, sessions=self.sessions, clock=self.clock)

    async def look(self) -> Sight:
        self.looks += 1
        if self.breaks:
            raise RuntimeError("no look")
        await asyncio.sleep(self.takes_s)
        return Sight({"key": self.key}, self.key, self.clock.now_ns(), self.next_ns)

    def watch(self, session: str, **how: Any) -> Reader:
        reader = Reader(**how)
        reader.clock = self.clock
        stream = Stream(session, self.clock.now_ns(), [])
        self.tasks.append(asyncio.create_task(self.events.serve(stream, reader.receive, reader.send)))
        return reader


def run(body: Callable[[Site], Awaitable[None]], bound_s: float = 3_600) -> None:
    async def main(loop: VirtualLoop) -> None:
        site = Site(loop)
        await body(site)
        for task in site.tasks:
            task.cancel()
        await asyncio.gather(*site.tasks, return_exceptions=True)

    run_virtual(main, bound_s=bound_s)


def test_at_once_then_what_is_news_then_signs_of_life() -> None:
    async def body(site: Site) -> None:
        reader = site.watch(site.sessions.log_in(""))
        await asyncio.sleep(1.2)
        site.key = "lease"
        await asyncio.sleep(20)
        assert reader.events == [(0.0, "board"), (1.5, "board"), (16.5, "alive")]
        assert reader.chunks[0][1] == "retry: 2000\n\n"

    run(body)


def test_what_ends_by_itself_is_told_at_its_instant() -> None:
    async def body(site: Site) -> None:
        site.next_ns = round(1.234 * S)
        reader = site.watch(site.sessions.log_in(""))
        await asyncio.sleep(1.233)
        site.key, site.next_ns = "gone", None
        await asyncio.sleep(0.002)
        assert reader.events == [(0.0, "board"), (1.234, "board")]

    run(body)


def test_nobody_looks_while_nobody_watches() -> None:
    async def body(site: Site) -> None:
        await asyncio.sleep(10)
        assert site.looks == 0
        readers = [site.watch(site.sessions.log_in("")) for _ in range(3)]
        await asyncio.sleep(10.1)
        assert site.looks <= 21 + len(readers), "one look for all who watch"
        for reader in readers:
            reader.left.set()
        await asyncio.sleep(0)
        before = site.looks
        await asyncio.sleep(10)
        assert site.looks <= before + 1

    run(body)


def test_a_slow_reader_gets_the_newest_and_keeps_nothing_waiting() -> None:
    async def body(site: Site) -> None:
        slow, quick = site.watch(site.sessions.log_in(""), stalled=True), site.watch(site.sessions.log_in(""))
        for number in range(50):
            site.key = number
            await asyncio.sleep(0.5)
        assert len(slow.chunks) == 1
        assert len(quick.events) >= 49
        before = site.clock.now_ns()
        await site.events.aclose()
        assert site.clock.now_ns() - before <= console_events.STOP_S * S, "a stop does not wait for who does not read"
        assert quick.events[-1][1] == "over"
        assert quick.complete

    run(body)


def test_a_session_that_runs_out_ends_its_streams_to_the_nanosecond() -> None:
    async def body(site: Site) -> None:
        session = site.sessions.log_in("")
        await asyncio.sleep(0.123)
        reader = site.watch(session)
        await asyncio.sleep(SESSION_NS / S - 0.124)
        assert not reader.complete
        signs = [t_s for t_s, _ in reader.events]
        assert max(later - before for before, later in itertools.pairwise(signs)) <= 15.5
        await asyncio.sleep(0.002)
        assert (reader.complete, reader.events[-1]) == (True, (SESSION_NS / S, "over"))
        assert json.loads(reader.chunks[-1][1].partition("data: ")[2]) == {"why": "expired"}
        assert not site.sessions.is_open(session)

    run(body, bound_s=50_000)


def test_a_look_that_fails_ends_no_stream_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def body(site: Site) -> None:
        reader = site.watch(site.sessions.log_in(""))
        await asyncio.sleep(1)
        site.breaks = True
        await asyncio.sleep(5)
        site.breaks, site.key = False, "back"
        await asyncio.sleep(1)
        assert [name for _, name in reader.events] == ["board", "board"]

    run(body)
    assert len([line for line in caplog.records if "cannot look" in line.getMessage()]) == 1


def test_looking_takes_a_fifth_of_the_time_at_most() -> None:
    async def body(site: Site) -> None:
        site.takes_s = 3.0
        site.watch(site.sessions.log_in(""))
        await asyncio.sleep(60)
        assert site.looks <= 6

    run(body)


def test_looks_stay_that_rare_while_leases_end_one_after_the_other() -> None:
    """Hundreds of leases of thousands of devices: one ends during every look. Sessions still end at their instant."""

    async def body(site: Site) -> None:
        site.takes_s, site.next_ns = 1.5, 0
        session = site.sessions.log_in("")
        reader = site.watch(session)
        await asyncio.sleep(75)
        assert site.looks <= 2 + 75 / (5 * 1.5), f"{site.looks} looks of 1.5 s in 75 s"
        await asyncio.sleep(SESSION_NS / S - 75 + 1.6)
        assert reader.events[-1][1] == "over"

    run(body, bound_s=50_000)


def test_room_is_bounded_by_session_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_events, "STREAMS_MAX", 5)
    monkeypatch.setattr(console_events, "STREAMS_PER_SESSION_MAX", 3)

    async def body(site: Site) -> None:
        alice, bob, carol = (site.sessions.log_in("") for _ in range(3))
        for session, room in [(alice, 3), (bob, 2), (carol, 0)]:
            for number in range(4):
                assert site.events.has_room(session) is (number < room)
                if number < room:
                    site.watch(session)
                    await asyncio.sleep(0)
        await site.events.aclose()
        assert not site.events.has_room(alice)

    run(body)


def test_after_the_stop_nobody_looks_again() -> None:
    async def body(site: Site) -> None:
        await site.events.aclose()
        reader = site.watch(site.sessions.log_in(""))
        await asyncio.sleep(5)
        assert reader.complete
        assert site.looks == 1

    run(body)


def test_the_pause() -> None:
    assert pause_ns(0, 0, []) == S // 2
    assert pause_ns(S, 0, []) == 4 * S
    assert pause_ns(0, 10 * S, [10 * S + 7_000_000, 20 * S]) == 7_000_000
    assert pause_ns(0, 10 * S, [9 * S]) == 1_000_000, "what is past is looked at soon, not at once for ever"


def test_an_event_is_one_line_of_ascii() -> None:
    text = event("board", {"name": "a\n\ndata: x\r\u2028\u00e9\ud800"})
    assert text.isascii()
    assert text.count("\n") == 3
    assert text.endswith("\n\n")
    assert "\r" not in text
