"""Laws on a live target, played in real time beside pytest: repeats, budget, mistakes of ours, and the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.laws.deployment import Controls, Deployment
from lasttick.laws.gate.beginning import deploy
from lasttick.laws.gate.gate import Gate
from lasttick.laws.gate.journal import journal_file, read_journal
from lasttick.laws.gate.live import LawEnd, LawPlay, LiveRun
from lasttick.laws.profiles.loaded import Loaded
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.target import Target
from lasttick.laws.verdict import LawFailed, NotApplicable, NotShown, control, must
from lasttick.laws.wire.message import WireError

PROFILE = Profile.model_validate({"version": 1, "callers": {"alice": {}}})
Law = Callable[[Target], Awaitable[None]]


class Run:
    """A live run over a target that nobody speaks to."""

    def __init__(self, budget_s: float | None = None) -> None:
        self.finished: list[Deployment] = []
        self.deployments: list[Deployment] = []
        self.profile = PROFILE
        self.transport: httpx.AsyncBaseTransport | None = None
        self._live = LiveRun(self._deploy, budget_s=budget_s)

    def start(
        self, *laws: Law, seconds: float = 0.1, invariant: tuple[int, ...] = (), restarts: tuple[int, ...] = ()
    ) -> list[Any]:
        plays = [
            LawPlay(f"a/{number}", function, lambda profile: seconds, number in invariant, number in restarts)
            for number, function in enumerate(laws)
        ]
        return self._live.start(plays)

    def play(self, *laws: Law, **more: Any) -> list[LawEnd]:
        return [future.result(10) for future in self.start(*laws, **more)]

    def close(self) -> None:
        self._live.close(self._finish)

    async def _deploy(self) -> Deployment:
        self.deployments.append(Deployment(self.profile, run="t", transport=self.transport))
        return self.deployments[-1]

    async def _finish(self, deployment: Deployment) -> None:
        self.finished.append(deployment)


@pytest.fixture
def run() -> Any:
    made: list[Run] = []

    def make(budget_s: float | None = None) -> Run:
        made.append(Run(budget_s))
        return made[-1]

    yield make
    for one in made:
        if not one.finished:
            one.close()


async def passes(target: Target) -> None:
    target.case("one")
    target.case("two")


def test_a_law_that_holds(run: Any) -> None:
    (end,) = run().play(passes)
    assert (end.error, end.cases, end.judged, end.plays) == (None, ("one", "two"), "answers", 1)


def test_a_law_without_a_case_has_shown_nothing(run: Any) -> None:
    async def nothing(target: Target) -> None:
        return None

    (end,) = run().play(nothing)
    assert isinstance(end.error, NotShown)
    assert str(end.error) == "no case: the law came to its end and judged nothing"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyError("device"), "the law could not be played: KeyError: 'device'"),
        (AssertionError("odd"), "the law could not be played: AssertionError: odd"),
        (TimeoutError("slow"), "the law could not be played: TimeoutError: slow"),
        (WireError("no host\n  expected: .."), "no host\n  expected: .."),
    ],
)
def test_a_mistake_of_ours_is_inconclusive_never_a_verdict(run: Any, raised: Exception, said: str) -> None:
    async def breaks(target: Target) -> None:
        target.case("before")
        raise raised

    for end in (*run().play(breaks), *run(budget_s=60).play(breaks)):
        assert isinstance(end.error, NotShown)
        assert str(end.error) == said
        assert end.plays == 1


def test_what_is_not_applicable_stays_so(run: Any) -> None:
    async def lacks(target: Target) -> None:
        target.needs("clock.step")

    (end,) = run().play(lacks)
    assert isinstance(end.error, NotApplicable)


def counting(*ends: Exception | None) -> tuple[Law, list[int]]:
    """A law that ends as told, one after the other."""
    played: list[int] = []

    async def law(target: Target) -> None:
        played.append(1)
        target.case("one")
        if (error := ends[len(played) - 1]) is not None:
            raise error

    return law, played


TIMING = NotShown("in between", timing=True)


@pytest.mark.parametrize(
    ("ends", "plays", "kind", "said"),
    [
        ([TIMING, None], 2, None, ""),
        ([TIMING, TIMING, TIMING], 3, NotShown, "in between"),
        ([NotShown("broken")], 1, NotShown, "broken"),
        ([LawFailed("early"), LawFailed("early again")], 2, LawFailed, "early"),
        ([LawFailed("early"), None], 2, LawFailed, "early (1 of 2: it did not fail again)"),
        ([LawFailed("early"), TIMING], 2, LawFailed, "early (the second play showed nothing: in between)"),
        ([TIMING, LawFailed("early"), LawFailed("early")], 3, LawFailed, "early"),
    ],
)
def test_a_timing_is_repeated_twice_and_a_failure_once(
    run: Any, ends: list[Exception | None], plays: int, kind: type[Exception] | None, said: str
) -> None:
    law, played = counting(*ends)
    (end,) = run().play(law)
    assert len(played) == end.plays == plays
    assert (end.error is None) if kind is None else type(end.error) is kind
    assert end.error is None or str(end.error) == said


def test_laws_overlap_and_invariants_come_when_all_others_are_over(run: Any) -> None:
    order: list[str] = []
    both = asyncio.Barrier(2)

    def story(name: str) -> Law:
        async def law(target: Target) -> None:
            await both.wait()
            order.append(name)
            target.case(name)

        return law

    async def last(target: Target) -> None:
        order.append("last")
        target.case("last")

    ends = run().play(last, story("a"), story("b"), invariant=(0,))
    assert [end.error for end in ends] == [None, None, None]
    assert order[-1] == "last"
    assert len(order) == 3


@pytest.mark.parametrize("restarts", [True, False], ids=["can be restarted", "cannot be"])
def test_what_restarts_the_target_runs_alone_where_it_can_be(run: Any, restarts: bool) -> None:
    running: list[str] = []
    beside: dict[str, list[str]] = {}

    def law(name: str) -> Law:
        async def play(target: Target) -> None:
            running.append(name)
            await asyncio.sleep(0.05)
            beside[name] = sorted(running)
            await asyncio.sleep(0.05)
            running.remove(name)
            target.case(name)

        return play

    live = run()
    if restarts:
        binding = {"restart": {"http": "POST http://127.0.0.1:7/restart"}}
        live.profile = Profile.model_validate({"version": 1, "callers": {"alice": {}}, "system": binding})
    names = ("last", "restarts", "restarts too", "a", "b")
    live.play(*map(law, names), invariant=(0,), restarts=(1, 2))
    assert beside["last"] == ["last"]
    if restarts:
        assert (beside["restarts"], beside["restarts too"]) == (["restarts"], ["restarts too"])
        assert beside["a"] == ["a", "b"]
    else:
        assert beside["a"] == ["a", "b", "restarts", "restarts too"]


def test_an_invariant_is_judged_also_after_a_broken_story(run: Any) -> None:
    async def breaks(target: Target) -> None:
        raise LawFailed("early")

    ends = run().play(passes, breaks, invariant=(0,))
    assert ends[0].error is None


def test_what_does_not_fit_the_budget_says_how_long_it_needs(run: Any) -> None:
    (end,) = run(budget_s=30).play(passes, seconds=90)
    assert isinstance(end.error, NotShown)
    assert str(end.error).startswith(
        "needs 90 s and 30 s of the budget of 30 s are left; run lasttick check --only a/0"
    )
    assert end.plays == 0


def test_a_law_that_takes_longer_than_the_budget_is_cut(run: Any) -> None:
    async def sleeps(target: Target) -> None:
        target.case("one")
        await target.sleep(60)

    (end,) = run(budget_s=0.2).play(sleeps)
    assert str(end.error) == "the budget of 0.2 s was over before it was decided"


def test_the_end_gives_every_law_the_time_to_give_up_what_it_holds(run: Any) -> None:
    holding = threading.Event()
    given_up: list[str] = []

    async def holds(target: Target) -> None:
        try:
            holding.set()
            await target.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            given_up.append("lease")

    one = run()
    (future,) = one.start(holds)
    assert holding.wait(5)
    one.close()
    assert given_up == ["lease"]
    assert one.finished == one.deployments
    assert future.cancelled()


def test_a_lease_that_is_granted_while_the_run_ends_is_given_back(run: Any) -> None:
    """The end comes between the request and its answer: what the answer gives is released all the same."""
    asked = threading.Event()
    sent: list[tuple[str, str]] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        sent.append((scope["method"], scope["path"]))
        if scope["path"] == "/leases":
            asked.set()
            await asyncio.sleep(0.2)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"id": "l1"}'})

    async def law(target: Target) -> None:
        (alice,) = await target.callers(1)
        async with target.subject() as subject:
            await subject.acquire(alice)

    lease = {
        "acquire": {"http": "POST /leases", "out": {"lease": "/body/id"}},
        "release": {"http": "DELETE /leases/{lease}"},
        "ttl_s": 20,
        "renewed_by": ["acquire"],
    }
    document = {"version": 1, "target": {"url": "http://127.0.0.1:7"}, "callers": {"alice": {}}, "lease": lease}
    one = run()
    one.profile, one.transport = Profile.model_validate(document), httpx.ASGITransport(server)
    (future,) = one.start(law)
    assert asked.wait(5)
    one.close()
    assert future.cancelled()
    assert sent == [("POST", "/leases"), ("DELETE", "/leases/l1")]


def test_a_run_that_never_began_has_nothing_to_end(run: Any) -> None:
    one = run()
    one.close()
    assert one.finished == []
    one.finished.append(None)


def test_one_deployment_for_all_laws(run: Any) -> None:
    one = run()
    one.play(passes, passes, passes)
    assert len(one.deployments) == 1


async def judged_by_effects(target: Target) -> None:
    await target.effects()
    must(True, "holds")
    control(True, "holds")
    target.case("one")


def test_what_a_verdict_rests_on_is_told(run: Any) -> None:
    one = run()
    one.play(passes)

    async def nothing_happened() -> list[Any]:
        return []

    one.deployments[0].controls = Controls(effects=nothing_happened)
    assert [end.judged for end in one.play(judged_by_effects, passes)] == ["effects", "answers"]


def test_a_gate_plays_what_is_asked_for_and_ends_all_that_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One law was started, the other is asked for later, as by a worker of -n; both leave a session behind."""
    ended: list[str] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        ended.append(scope["path"]) if scope["method"] == "DELETE" else None
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"id": "s 1"}'})

    async def vanishes(target: Target) -> None:
        (alice,) = await target.callers(1)
        await alice.vanish()
        target.case("one")

    session = {
        "open": {"http": "POST /sessions", "out": {"chat": "/body/id"}},
        "end": {"http": "DELETE /sessions/{chat}"},
    }
    document = {"version": 1, "target": {"url": "http://127.0.0.1:7"}, "callers": {"alice": {}}, "session": session}
    loaded = Loaded(Profile.model_validate(document), "lasttick.toml", "")
    config = tmp_path / "lasttick.toml"

    async def deploy_in_memory(loaded: Loaded, config: Path) -> Deployment:
        deployment = await deploy(loaded, config)
        deployment.transport = httpx.ASGITransport(server)
        return deployment

    monkeypatch.setattr("lasttick.laws.gate.gate.deploy", deploy_in_memory)
    plays = {name: LawPlay(f"a/{name}", vanishes, lambda profile: 0.1) for name in ("early", "late")}
    gate = Gate(loaded, config, plays)
    gate.start(["early"])
    assert [gate.await_end(name).error for name in plays] == [None, None]
    assert [entry.names for entry in read_journal(journal_file(config))] == [{"chat": "s 1"}, {"chat": "s 1"}]
    assert ended == []
    assert gate.close() == []
    assert ended == ["/sessions/s 1", "/sessions/s 1"]
    assert read_journal(journal_file(config)) == []
    assert gate.close() == [], "once is enough"
