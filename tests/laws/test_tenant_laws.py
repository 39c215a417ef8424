"""The law of tenants, and sessions that were opened elsewhere: green on our gateway and on clean servers, red on the
mutant or fault that each is about, nothing when nothing is shown."""

from __future__ import annotations

import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from lasttick.engine.network import Delay

from . import lease_service
from .lease_service import LeaseService
from .playing import Ruled, all_laws, play
from .test_gateway_laws import on_gateway
from .tool_server import ENVIRON, PROFILE, ToolServer
from .verdicts import judged

TENANT, BOUND = "tools/tenant-isolated", "session/bound-to-caller"
LAWS = all_laws()


# -- our gateway


def test_the_reference_passes() -> None:
    ruled = on_gateway(TENANT)
    assert ruled.word == "pass", ruled
    assert ruled.cases[0].startswith("refund of runner, by other")
    assert list(ruled.cases[1:]) == [
        "the run of agent, by other",
        "the org and the run of runner, by other",
        "the org of runner, by other",
        "the run of runner, by other",
        "the run of other, by agent",
        "the org and the run of other, by runner",
        "the org of other, by runner",
        "the run of other, by runner",
    ]


def test_a_run_is_of_no_use_to_another_organisation() -> None:
    ruled = on_gateway(BOUND)
    assert ruled.word == "pass", ruled
    assert ruled.cases[:3] == ("a call of other", "a call of agent", "a call of runner")


@pytest.mark.parametrize(
    ("law", "mutant", "reason"),
    [
        (TENANT, "body-org-overrides-token-org", "call with the org and the run of runner's tenant happened"),
        (TENANT, "404-differs-by-reason", "call with the run of agent's tenant is not answered like one with what is"),
        (TENANT, "lookup-by-id-only", "call with the run of agent's tenant happened"),
        (BOUND, "lookup-by-id-only", "other acted in the session of agent"),
    ],
)
def test_a_mutant_is_red_with_its_reason(law: str, mutant: str, reason: str) -> None:
    ruled = on_gateway(law, f"gateway/{mutant}")
    assert ruled.word == "fail", ruled
    assert reason in ruled.reason


def test_what_differs_is_named_by_its_place() -> None:
    assert "(tools.foreign = hidden): /body/message\n" in on_gateway(TENANT, "gateway/404-differs-by-reason").reason


# -- somebody's tools

TOOLS = PROFILE.replace("[callers.alice]", '[callers.alice]\ntenant = "red"').replace(
    "[callers.bob]", '[callers.bob]\ntenant = "blue"'
)
REFUSED = TOOLS.replace("[tools.list]", '[tools]\nforeign = "refused"\n[tools.list]')


class Hidden(ToolServer):
    """What is not for the caller is not there. `noise`: what changes from answer to answer; `tells`: what gives away
    that something is there after all."""

    def __init__(self, *faults: str, noise: str = "", tells: str = "") -> None:
        super().__init__(*faults)
        self._noise, self._tells = noise, tells
        self._answers = itertools.count(1)

    async def call(self, request: Request) -> JSONResponse:
        answer = await super().call(request)
        if answer.status_code == 200 or b"mark" in answer.body:
            return answer
        number, is_there = next(self._answers), answer.status_code == 403
        if self._noise == "breaks" and number % 2:
            return JSONResponse({}, 503)
        body: dict[str, Any] = {"error": f"no {request.path_params['tool']} in {request.headers.get('x-session')}"}
        headers = {}
        match self._noise:
            case "request ids":
                body["request"], headers["x-request-id"] = f"r{number}", f"r{number}"
            case "servers by turns":
                headers["x-served-by"] = f"s{number % 2}"
        match self._tells if is_there else "":
            case "status":
                return JSONResponse(body, 403)
            case "text":
                body["error"] = "not for you"
            case "member":
                body["owner"] = None
            case "header":
                headers["x-owner"] = "alice"
            case "number":
                body["n"] = 1
        return JSONResponse(body, 404, headers=headers)


def on(server: ToolServer, profile: str = TOOLS) -> Ruled:
    return judged(TENANT, server.app, profile, ENVIRON)


CASES = ("paint of alice, by bob", "the session of alice, by bob", "the session of bob, by alice")


@pytest.mark.parametrize("noise", ["", "request ids", "servers by turns"])
def test_what_is_hidden_passes_whatever_else_changes(noise: str) -> None:
    assert on(Hidden(noise=noise)) == Ruled("pass", "", CASES)


@pytest.mark.parametrize(
    ("tells", "place"),
    [
        ("status", "/status"),
        ("text", "/body/error"),
        ("member", "/body/owner"),
        ("header", "/headers/x-owner"),
        ("number", "/body/n"),
    ],
)
@pytest.mark.parametrize("noise", ["", "request ids"])
def test_what_gives_it_away_is_red(tells: str, place: str, noise: str) -> None:
    ruled = on(Hidden(tells=tells, noise=noise))
    assert ruled.word == "fail", ruled
    assert place in ruled.reason.splitlines()[0]


def test_what_the_profile_calls_volatile_is_not_compared() -> None:
    profile = TOOLS.replace("[tools.list]", '[tools]\nvolatile = ["/headers/x-owner"]\n[tools.list]')
    assert on(Hidden(tells="header"), profile).word == "pass"


def test_where_it_need_not_be_hidden_a_refusal_is_enough() -> None:
    assert on(ToolServer(), REFUSED) == Ruled("pass", "", CASES)
    assert on(ToolServer()).word == "fail"


@pytest.mark.parametrize(
    ("faults", "word", "reason"),
    [
        (("any-tool-for-all",), "fail", "bob's call of paint, which only alice's tenant has, happened"),
        (("refuses-and-does-it",), "fail", "bob's call of paint, which only alice's tenant has, happened"),
        (("any-session",), "fail", "bob's call with the session of alice's tenant happened"),
        (("refuses-all",), "inconclusive", "bob may use look, and is not answered ok"),
        (("does-nothing",), "inconclusive", "a call of look by bob did not arrive"),
        (("errors-for-refusals",), "inconclusive", "was answered error; no rule of [outcomes] knows HTTP 500"),
    ],
)
def test_a_fault_and_its_verdict(faults: tuple[str, ...], word: str, reason: str) -> None:
    ruled = on(ToolServer(*faults), REFUSED)
    assert ruled.word == word, ruled
    assert reason in ruled.reason


def test_an_answer_that_breaks_now_and_then_is_no_red() -> None:
    assert on(Hidden(noise="breaks")).word == "inconclusive"


class Loose(Hidden):
    """Looks at no session, or ends the one that is named."""

    def __init__(self, does: str) -> None:
        super().__init__()
        self._does = does

    async def call(self, request: Request) -> JSONResponse:
        caller = {"alice": "alice", "bob": "bob"}[request.headers["authorization"].split()[1].partition("-")[0]]
        session = request.headers.get("x-session", "")
        of = self._replicas[0].get(session)
        if self._does == "ends it" and of not in (None, caller):
            del self._replicas[0][session]
        if self._does == "looks at none":
            known = caller == "alice" or request.path_params["tool"] == "look"
            return self._do((await request.json())["mark"], "") if known else JSONResponse({}, 404)
        return await super().call(request)


def test_a_name_that_nobody_looks_at_is_no_case() -> None:
    assert on(Loose("looks at none")) == Ruled("pass", "", CASES[:1])


def test_who_is_thrown_out_by_another_tenants_attempt_cannot_go_on() -> None:
    ruled = on(Loose("ends it"))
    assert ruled.word == "inconclusive"
    assert "alice may use look, and is not answered ok" in ruled.reason


def test_without_two_tenants_it_is_not_applicable() -> None:
    ruled = on(ToolServer(), TOOLS.replace('"blue"', '"red"'))
    assert ruled.word == "not_applicable"
    assert ruled.reason == "needs callers of two tenants (`tenant` of [callers]); the profile names red"
    assert on(ToolServer(), PROFILE).reason.endswith("the profile names none")


def test_where_nothing_is_one_tenants_it_is_not_applicable() -> None:
    profile = TOOLS.replace('may = ["look", "paint"]', 'may = ["look"]').replace(
        'headers = { X-Session = "{session}" }\n', ""
    )
    ruled = on(ToolServer(), profile)
    assert (ruled.word, ruled.reason[:38]) == ("not_applicable", "needs something of one tenant's: a too")


def test_a_credential_is_never_borrowed() -> None:
    own = 'headers = {{ Authorization = "Bearer {{token}}" }}\nvars = {{ token = "${{{}}}" }}'
    profile = TOOLS
    for name in ("ALICE", "BOB"):
        profile = profile.replace(f'headers = {{ Authorization = "Bearer ${{{name}}}" }}', own.format(name))
    call = 'json = { mark = "{mark}" }'
    assert on(Hidden(), profile.replace(call, 'json = { mark = "{mark}", with = "{token}" }')).cases == CASES


# -- sessions of a tenant

OF_TENANT = TOOLS.replace("[session.open]", '[session]\nof = "tenant"\n[session.open]')


@pytest.mark.parametrize(
    ("server", "word", "cases"),
    [
        (ToolServer(), "pass", ("a call of bob", "an end by bob", "a call of alice", "an end by alice")),
        (ToolServer("any-session"), "fail", ()),
        (ToolServer("anyone-ends"), "fail", ("a call of bob",)),
    ],
)
def test_a_session_of_a_tenant_is_of_no_use_to_the_others(
    server: ToolServer, word: str, cases: tuple[str, ...]
) -> None:
    ruled = judged(BOUND, server.app, OF_TENANT, ENVIRON)
    assert (ruled.word, ruled.cases) == (word, cases), ruled


def test_within_a_tenant_it_is() -> None:
    ruled = judged(BOUND, ToolServer("any-session").app, OF_TENANT.replace('"blue"', '"red"'), ENVIRON)
    assert (ruled.word, ruled.reason[:50]) == ("not_applicable", "needs a second caller of another tenant with other")


# -- somebody's leases


class Tenants(LeaseService):
    """What is another's lease is not there. `fault`: what it gets wrong with it all the same."""

    def __init__(self, fault: str = "", **policy: Any) -> None:
        super().__init__(**policy)
        self.fault = fault

    async def use(self, request: Request) -> JSONResponse:
        return await self._of_its_own(request, "uses", super().use)

    async def renew(self, request: Request) -> JSONResponse:
        return await self._of_its_own(request, "renews", super().renew)

    async def release(self, request: Request) -> JSONResponse:
        return await self._of_its_own(request, "releases", super().release)

    async def _of_its_own(
        self, request: Request, act: str, right: Callable[[Request], Awaitable[JSONResponse]]
    ) -> JSONResponse:
        lease, session = self.leases.get(request.path_params["lease"]), (await request.json())["session"]
        is_hers = lease is not None and lease.session == session
        if "any session" not in self.fault:
            is_hers = is_hers and request.headers.get("x-who") in (None, self.sessions.get(session))
        if is_hers:
            return await right(request)
        answer = JSONResponse({"why": f"no lease {request.path_params['lease']}"}, 404)
        if self.fault == f"answers ok and {act} nothing":
            answer = JSONResponse({})
        if lease is None or lease.over:
            return answer
        if self.fault == "says whose":
            return JSONResponse({"why": "not your lease"}, 403)
        if self.fault == act == "uses":
            self.effects.append({"mark": (await request.json())["mark"], "at": self.now_s, "resource": lease.resource})
        elif self.fault == act == "renews":
            lease.until_s = self.now_s + self.ttl_s
        elif self.fault == act == "releases":
            lease.over = True
        return answer


def edited(*more: tuple[str, str]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        for name, tenant in (("alice", "red"), ("bob", "blue")):
            text = text.replace(f"[callers.{name}]", f'[callers.{name}]\ntenant = "{tenant}"')
        text = text.replace("[lease]\n", '[outcomes]\ndenied = [{ "/status" = 404 }]\n[lease]\n', 1)
        for old, new in more:
            assert old in text
            text = text.replace(old, new)
        return text

    return edit


OWN_HEADERS = tuple((f'id = "{name}"', f'id = "{name}"\nheaders = {{ X-Who = "{name}" }}') for name in ("alice", "bob"))


def on_leases(service: LeaseService, *more: tuple[str, str], delay: Delay | None = None) -> Ruled:
    return play(LAWS[TENANT], lambda loop: lease_service.deploy(loop, service, delay, edited(*more)))


LEASE_CASES = (
    "a lease of alice, lease.use by bob",
    "a lease of alice, lease.renew by bob",
    "a lease of alice, lease.release by bob",
    "a lease of alice, not lengthened by bob",
)


@pytest.mark.parametrize("more", [(), OWN_HEADERS], ids=["one door", "doors of their own"])
@pytest.mark.parametrize("policy", [{}, {"busy": "queues"}, {"busy": "provisions"}, {"renewed_by": ["use"]}])
def test_leases_of_tenants_pass_under_every_policy(policy: dict[str, Any], more: tuple[tuple[str, str], ...]) -> None:
    assert on_leases(Tenants(**policy), *more) == Ruled("pass", "", LEASE_CASES)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("uses", "bob's lease.use of a lease of alice's tenant, named by the lease, happened"),
        (
            "says whose",
            "lease.use of a lease of alice's tenant, named by the lease, is not answered like one with what",
        ),
        ("releases", "alice was refused what she holds after bob's lease.release of a lease of alice's tenant"),
        ("renews", "the lease of alice, which bob of another tenant tried to renew,"),
    ],
)
def test_a_fault_with_leases_is_red(fault: str, reason: str) -> None:
    ruled = on_leases(Tenants(fault))
    assert ruled.word == "fail", ruled
    assert reason in ruled.reason


def test_an_end_that_answers_ok_to_everybody_and_ends_nothing_passes() -> None:
    assert on_leases(Tenants("answers ok and releases nothing")) == Ruled("pass", "", LEASE_CASES)
    refused = ("[lease.acquire]", '[tools]\nforeign = "refused"\n[lease.acquire]')
    ruled = on_leases(Tenants("answers ok and releases nothing"), refused)
    assert ruled.word == "fail"
    assert "lease.release of a lease of alice's tenant, named by the lease, was answered ok" in ruled.reason


def test_her_session_is_of_no_use_with_his_own_headers() -> None:
    ruled = on_leases(Tenants("any session"), *OWN_HEADERS)
    assert ruled.word == "fail"
    assert "bob's lease.use of a lease of alice's tenant, named by the session and the lease, happened" in ruled.reason


@pytest.mark.parametrize("wrong", ["denies bob", "grants to all", "breaks", "denies when busy"])
def test_other_faults_are_no_red_of_this_law(wrong: str) -> None:
    service = Tenants()
    service.wrong = wrong
    assert on_leases(service).word in ("pass", "inconclusive")


@pytest.mark.parametrize("seed", range(12))
def test_slow_answers_are_no_red(seed: int) -> None:
    delay = Delay(random.Random(seed), 0.0, 3.0)
    assert on_leases(Tenants(), delay=delay).word in ("pass", "inconclusive")
