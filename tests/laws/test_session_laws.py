"""The laws on sessions: green on a clean server, red on the fault that each is about, nothing when nothing is shown."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.reference import DEVICES
from lasttick.laws.servers.hop import hop_app
from lasttick.laws.servers.hop_options import HopOptions
from lasttick.targets.host import Host
from lasttick.targets.virtual import VirtualWorld

from . import lease_service
from .lease_service import LeaseService
from .playing import Ruled, play
from .tool_server import ENVIRON, PROFILE, ToolServer
from .verdicts import LAWS, asgi_transport, judged, on_reference

BOUND, ENDED, REPLICA = "session/bound-to-caller", "session/ended-is-ended", "session/survives-replica"


def on(law: str, *faults: str, profile: str = PROFILE, environ: dict[str, str] = ENVIRON) -> Ruled:
    return judged(law, ToolServer(*faults).app, profile, environ)


@pytest.mark.parametrize(
    ("law", "cases"),
    [
        (BOUND, ("a call of bob", "an end by bob")),
        (ENDED, ("a call in an ended session",)),
        (REPLICA, ("open, list, call", "an unknown session is refused")),
    ],
)
def test_a_clean_server_passes(law: str, cases: tuple[str, ...]) -> None:
    assert on(law) == Ruled("pass", "", cases)


@pytest.mark.parametrize(
    ("law", "fault", "reason"),
    [
        (BOUND, "any-session", "bob acted in the session of alice"),
        (BOUND, "refuses-and-does-it", "bob acted in the session of alice"),
        (BOUND, "anyone-ends", "bob ended the session of alice"),
        (ENDED, "ended-acts", "a call in an ended session happened"),
        (ENDED, "ended-answers-ok", "a call in an ended session was answered ok"),
        (REPLICA, "replicas", "no open, list and call succeeded as a whole within 3 openings"),
        (REPLICA, "fails-in-the-first-session", "a call neither worked nor said that its session is unknown"),
    ],
)
def test_a_fault_is_red_with_its_reason(law: str, fault: str, reason: str) -> None:
    end = on(law, fault)
    assert end.word == "fail"
    assert end.reason.startswith(reason)


@pytest.mark.parametrize("law", [BOUND, ENDED, REPLICA])
@pytest.mark.parametrize("fault", ["refuses-all", "does-nothing"])
def test_where_nothing_works_nothing_is_shown(law: str, fault: str) -> None:
    assert on(law, fault).word == "inconclusive"


@pytest.mark.parametrize("law", [BOUND, ENDED])
def test_who_refuses_all_and_does_it_shows_nothing_about_sessions(law: str) -> None:
    end = on(law, "refuses-all", "refuses-and-does-it", "ended-acts")
    assert end.word == "inconclusive"
    assert end.reason.startswith("alice's call in its own session is not answered ok")


def test_a_session_that_is_said_to_be_unknown_may_be_opened_again() -> None:
    assert on(REPLICA, "forgets-the-first-session").word == "pass"


def test_who_takes_every_session_for_known_shows_nothing_about_replicas() -> None:
    end = on(REPLICA, "ended-acts")
    assert end.word == "inconclusive"
    assert end.reason.startswith("a call in an ended session is not refused: nothing here knows of sessions")


@pytest.mark.parametrize("law", [ENDED, REPLICA])
def test_an_error_in_an_ended_session_names_the_rule_that_is_missing(law: str) -> None:
    end = on(law, profile=PROFILE.replace('denied = [{ "/status" = 404 }]\n', ""))
    assert end.word == "inconclusive"
    assert "was answered error; no rule of [outcomes] knows HTTP 404" in end.reason
    assert "nothing here knows of sessions" not in end.reason


@pytest.mark.parametrize("law", [BOUND, ENDED, REPLICA])
def test_calls_that_present_no_session_say_nothing_of_sessions(law: str) -> None:
    end = on(law, profile=PROFILE.replace('headers = { X-Session = "{session}" }\n', ""))
    assert end.word == "not_applicable"
    assert end.reason.startswith("needs calls that present a session")


@pytest.mark.parametrize("law", [ENDED, REPLICA])
def test_sessions_that_cannot_be_ended_are_not_enough(law: str) -> None:
    start, stop = PROFILE.index("[session.end]"), PROFILE.index("[tools.list]")
    end = on(law, profile=PROFILE[:start] + PROFILE[stop:])
    assert (end.word, end.reason) == ("not_applicable", "needs the verb session.end, which the profile does not bind")


def test_callers_that_only_a_session_tells_apart_are_not_enough() -> None:
    end = on(BOUND, profile=PROFILE.replace("${BOB}", "${ALICE}"), environ=ENVIRON)
    assert end.word == "not_applicable"
    assert end.reason == "needs a second caller with other headers; a session is all that tells these apart"


# -- on a lease service of any policy ----------------------------------------------------------------------------------


def on_leases(law: str, wrong: str = "", **policy: Any) -> Ruled:
    return play(LAWS[law], lambda loop: lease_service.deploy(loop, LeaseService(wrong, **policy)))


@pytest.mark.parametrize(
    "policy", [{}, {"session_end": "keeps"}, {"busy": "queues"}, {"busy": "provisions"}, {"capacity": 2}]
)
def test_what_an_ended_session_held_is_free_as_declared(policy: dict[str, Any]) -> None:
    assert on_leases(ENDED, **policy) == Ruled("pass", "", ("a call in an ended session", "what it held is free"))


@pytest.mark.parametrize(
    ("wrong", "policy", "reason"),
    [
        ("session ends otherwise", {}, "what an ended session held is not free"),
        ("session ends otherwise", {"busy": "queues"}, "what an ended session held is not free"),
        ("expires late", {"session_end": "keeps"}, "what an ended session held is not free"),
        ("serves old leases", {}, "a call in an ended session happened"),
    ],
)
def test_what_an_ended_session_can_still_do_is_red(wrong: str, policy: dict[str, Any], reason: str) -> None:
    ruled = on_leases(ENDED, wrong, **policy)
    assert ruled.word == "fail"
    assert ruled.reason.startswith(reason)


# -- on our host agent -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "cases"),
    [
        (BOUND, ("a call of stranger", "an end by stranger")),
        (ENDED, ("a call in an ended session", "what it held is free")),
        (REPLICA, ("open, list, call", "an unknown session is refused")),
    ],
)
def test_the_reference_passes(law: str, cases: tuple[str, ...]) -> None:
    assert on_reference(law) == Ruled("pass", "", cases)


@pytest.mark.parametrize(
    ("law", "mutant", "reason"),
    [
        (BOUND, "post-needs-no-token", "stranger acted in the session of alice"),
        (BOUND, "delete-needs-no-token", "stranger ended the session of alice"),
        (ENDED, "lost-session-keeps-lease", "what an ended session held is not free"),
    ],
)
def test_a_mutant_is_red_with_its_reason(law: str, mutant: str, reason: str) -> None:
    end = on_reference(law, f"hostagent/{mutant}")
    assert end.word == "fail"
    assert end.reason.startswith(reason)


class Doors(httpx.AsyncBaseTransport):
    """Lets the hop in everywhere: each host has a token of its own, and a hop knows only the one it was sent."""

    def __init__(self, inner: httpx.AsyncBaseTransport, hosts: list[Host]) -> None:
        self._inner = inner
        self._tokens = {httpx.URL(host.url).port: host.token for host in hosts}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["host"] = request.url.netloc.decode()
        request.headers["authorization"] = f"Bearer {self._tokens[request.url.port]}"
        return await self._inner.handle_async_request(request)


@pytest.mark.parametrize(("replicas", "word"), [(1, "pass"), (2, "fail")])
def test_two_hosts_behind_a_hop_that_knows_no_sessions_are_red(replicas: int, word: str) -> None:
    async def balance(world: VirtualWorld, deployment: Deployment) -> None:
        hosts = [await world.hostagent(devices=DEVICES) for _ in range(replicas)]
        options = HopOptions(to=tuple(host.console_url for host in hosts))
        deployment.transport = asgi_transport(hop_app(options, Doors(world.transport(), hosts)))

    end = on_reference(REPLICA, change=balance)
    assert end.word == word
    assert end.reason.startswith("no open, list and call succeeded as a whole within 3 openings" * (replicas - 1))
