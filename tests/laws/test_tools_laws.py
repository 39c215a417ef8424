"""The laws on tools: green on a clean server, red on the fault that each is about, nothing when nothing is shown."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from . import lease_service
from .lease_service import Lease, LeaseService
from .playing import Ruled, play
from .sayings import mark, said
from .tool_server import ENVIRON, PROFILE, ToolServer
from .verdicts import LAWS, judged, on_reference

HIDDEN, UNTOUCHED, SECRET = "tools/hidden-is-refused", "tools/refused-is-untouched", "tools/no-secret-out"
ROUTE = """
[routes.rest.tools.call]
http = "POST /also/{tool}"
headers = { X-Session = "{session}" }
json = { mark = "{mark}" }
"""


def on(law: str, *faults: str, profile: str = PROFILE, environ: dict[str, str] = ENVIRON) -> Ruled:
    return judged(law, ToolServer(*faults).app, profile, environ)


@pytest.mark.parametrize(
    ("law", "cases"),
    [
        (HIDDEN, ("paint of bob",)),
        (UNTOUCHED, ("tools.call of bob",)),
        (SECRET, ("effects", "error", "list", "log", "ok", "refusal")),
    ],
)
def test_a_clean_server_passes(law: str, cases: tuple[str, ...]) -> None:
    assert on(law) == Ruled("pass", "", cases)


@pytest.mark.parametrize(
    ("law", "fault", "reason"),
    [
        (HIDDEN, "any-tool-for-all", "paint is not for bob, and it happened all the same"),
        (HIDDEN, "refuses-and-does-it", "paint is not for bob, and it happened all the same"),
        (UNTOUCHED, "refuses-and-does-it", "a call was answered as refused, and it happened all the same"),
        (SECRET, "own-token-in-error", "a secret came out: ALICE, base64, in the error of tools.call to alice, /body"),
        (SECRET, "session-of-another-in-refusal", "output session of session alice-1, plain, in the refusal of tools"),
        (SECRET, "upstream-key-in-effects", "a secret came out: KEY, hex, in what effects shows, /body/effects/0/key"),
        (SECRET, "token-in-log", "a secret came out: BOB, plain, in what log shows, /body/lines/1"),
    ],
)
def test_a_fault_is_red_with_its_reason(law: str, fault: str, reason: str) -> None:
    end = on(law, fault)
    assert end.word == "fail"
    assert reason in end.reason
    assert not any(value in end.reason for value in ENVIRON.values())


@pytest.mark.parametrize("law", [HIDDEN, UNTOUCHED, SECRET])
@pytest.mark.parametrize("fault", ["refuses-all", "does-nothing"])
def test_where_nothing_works_nothing_is_shown(law: str, fault: str) -> None:
    assert on(law, fault).word == "inconclusive"


@pytest.mark.parametrize(
    ("law", "fault"), [(HIDDEN, "refuses-and-does-it"), (UNTOUCHED, "refuses-and-does-it"), (SECRET, "token-in-log")]
)
def test_a_witness_needs_no_control(law: str, fault: str) -> None:
    assert on(law, "refuses-all", fault).word == "fail"


def test_a_refusal_that_another_law_saw_happen_is_a_witness_too() -> None:
    server = ToolServer("refuses-all")
    server.effects.append({"mark": "lt-t1-1"})
    before = [said(1, outcome="denied", mark=mark(1), law="lease/exclusive")]
    end = judged(UNTOUCHED, server.app, PROFILE, ENVIRON, before)
    assert end.word == "fail"
    assert end.reason.count("tools.call lt-t1-1 -> denied") == 1


def test_callers_may_have_their_credentials_in_vars() -> None:
    own = 'headers = {{ Authorization = "Bearer {{token}}" }}\nvars = {{ token = "${{{}}}" }}'
    profile = PROFILE
    for name in ("ALICE", "BOB"):
        profile = profile.replace(f'headers = {{ Authorization = "Bearer ${{{name}}}" }}', own.format(name))
    assert on(HIDDEN, profile=profile).cases == ("paint of bob",)


def test_an_error_is_no_refusal() -> None:
    end = on(HIDDEN, "errors-for-refusals")
    assert end.word == "inconclusive"
    assert (
        "and that it may not is not what it was told: answered error; no rule of [outcomes] knows HTTP 500"
        in end.reason
    )


@pytest.mark.parametrize("law", [HIDDEN, UNTOUCHED, SECRET])
def test_whose_list_cannot_be_read_is_not_taken_for_who_may_not(law: str) -> None:
    profile = PROFILE.replace('may = ["look"]', "")
    end = on(law, "list-fails-for-bob", profile=profile)
    assert end.word == "inconclusive"
    assert end.reason.startswith("whether bob sees a tool is not known")


def test_a_tool_is_tried_on_every_way_to_it() -> None:
    assert on(HIDDEN, profile=PROFILE + ROUTE).cases == ("paint of bob", "paint of bob by rest")
    end = on(HIDDEN, "any-tool-on-the-other-way", profile=PROFILE + ROUTE)
    assert (end.word, end.cases) == ("fail", ("paint of bob",))


def test_a_caller_with_a_route_goes_only_that_way() -> None:
    profile = (PROFILE + ROUTE).replace('may = ["look"]', 'may = ["look"]\nroute = "rest"')
    assert on(HIDDEN, profile=profile).cases == ("paint of bob by rest",)


def test_without_somebody_who_may_not_it_is_not_applicable() -> None:
    end = on(HIDDEN, profile=PROFILE.replace('may = ["look", "paint"]', 'may = ["look"]'))
    assert end.word == "not_applicable"
    assert "which one caller sees and may use and another does not" in end.reason


@pytest.mark.parametrize("law", [HIDDEN, UNTOUCHED])
def test_without_effects_it_is_not_applicable(law: str) -> None:
    start = PROFILE.index("effects =")
    profile = PROFILE[:start] + PROFILE[PROFILE.index("\n", start) + 1 :]
    end = on(law, profile=profile)
    assert (end.word, end.reason) == ("not_applicable", "needs the verb effects, which the profile does not bind")


def test_a_secret_that_may_occur_by_chance_shows_nothing() -> None:
    end = on(SECRET, environ={**ENVIRON, "KEY": "letmein"})
    assert end.word == "inconclusive"
    assert end.reason == "shorter than 8 characters, so it may occur by chance: KEY"


def test_without_an_answer_of_each_kind_nothing_is_shown() -> None:
    end = on(SECRET, profile=PROFILE.replace('may = ["look", "paint"]', 'may = ["look"]'))
    assert end.word == "inconclusive"
    assert end.reason == "no answer of the kind refusal was seen by this law"


# -- on a lease service of any policy ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "cases"),
    [
        ({}, ("lease.use of bob",)),
        ({"busy": "queues"}, ("lease.use of bob",)),
        ({"busy": "provisions"}, ("lease.use of bob",)),
    ],
)
def test_leases_have_refusals_under_every_policy(policy: dict[str, Any], cases: tuple[str, ...]) -> None:
    service = LeaseService(**policy)
    assert play(LAWS[UNTOUCHED], lambda loop: lease_service.deploy(loop, service)) == Ruled("pass", "", cases)


def test_where_the_holders_lease_serves_everybody_it_is_used_when_it_was_given_back() -> None:
    class Bearer(LeaseService):
        """Who knows a lease may use it, and nobody may when it is over."""

        def own(self, lease: Lease, session: str) -> bool:
            return session in self.sessions

    ruled = play(LAWS[UNTOUCHED], lambda loop: lease_service.deploy(loop, Bearer(busy="queues")))
    assert ruled == Ruled("pass", "", ("lease.use of alice",))


class Named(LeaseService):
    """A lease is of a resource that was asked for by name, and a use names both."""

    async def use(self, request: Request) -> JSONResponse:
        if (await request.json()).get("resource", "r1") != "r1":
            return JSONResponse({"why": "no such resource"}, 400)
        return await super().use(request)


@pytest.mark.parametrize(
    ("in_use", "cases"),
    [
        (', resource = "{resource}"', ("effects", "error", "list", "ok", "refusal")),
        ("", ("effects", "list", "ok", "refusal")),
    ],
    ids=["named in a use", "only its lease in a use"],
)
def test_no_secret_out_of_leases_with_keys_and_names(in_use: str, cases: tuple[str, ...]) -> None:
    def edit(text: str) -> str:
        text = text.replace("[lease.use]\n", '[lease.use]\nheaders = { X-Session = "{session}" }\n')  # a secret
        text = text.replace("[lease]\n", '[lease]\nresources = ["r1"]\n')
        text = text.replace(
            'json = { session = "{session}" }\nout', 'json = { session = "{session}", of = "{resource}" }\nout'
        )
        return text.replace('hold_s = "{hold_s}"', 'hold_s = "{hold_s}"' + in_use)

    ruled = play(LAWS[SECRET], lambda loop: lease_service.deploy(loop, Named(), edit=edit))
    assert ruled == Ruled("pass", "", cases)


# -- on our host agent -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "cases"),
    [
        (HIDDEN, ("swipe of stranger",)),
        (UNTOUCHED, ("tools.call of stranger", "lease.acquire of bob", "lease.use of bob")),
        (SECRET, ("error", "list", "ok", "refusal")),
    ],
)
def test_the_reference_passes(law: str, cases: tuple[str, ...]) -> None:
    assert on_reference(law) == Ruled("pass", "", cases)


@pytest.mark.parametrize(
    ("law", "mutant", "reason"),
    [
        (HIDDEN, "post-needs-no-token", "swipe is not for stranger, and it happened all the same"),
        (HIDDEN, "token-prefix-is-enough", "swipe is not for stranger, and it happened all the same"),
        (SECRET, "owner-leaks-session-id", "id of session alice-1, plain, in the refusal of lease.acquire to bob"),
    ],
)
def test_a_mutant_is_red_with_its_reason(law: str, mutant: str, reason: str) -> None:
    end = on_reference(law, f"hostagent/{mutant}")
    assert end.word == "fail"
    assert reason in end.reason
