"""Do the two doors open for exactly whom they should, and say which of them it was?"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.trust import Admitted, Claims, internal_door, runner_door

SECRET = "s3cret-of-the-agent"
NOW_S = 1_800_000_000.0
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def matches(presented: str) -> bool:
    return presented == SECRET


def token(**changes: Any) -> dict[str, Any]:
    """A token that the runner door takes, changed; a value of None takes the claim away."""
    payload = {"sub": "runner-7", "org_id": "org-a", "aud": "runner", "role": "runner", "exp": NOW_S + 60, **changes}
    return {name: value for name, value in payload.items() if value is not None}


@pytest.mark.parametrize("presented", [SECRET, SECRET.encode()])
def test_the_internal_door_gives_exactly_these_claims(presented: bytes | str) -> None:
    admitted = internal_door(presented=[presented], org_id="org-a", matches=matches)
    assert admitted == Admitted(
        "internal", Claims(sub="internal-agent:org-a", org_id="org-a", role="runner", aud="runner")
    )
    assert admitted.user == {"platformRole": "runner", "orgMemberships": [{"orgId": "org-a"}]}


def test_an_org_id_is_used_unstripped() -> None:
    admitted = internal_door(presented=[SECRET], org_id=" org-a\t", matches=matches)
    assert admitted is not None
    assert admitted.claims == Claims("internal-agent: org-a\t", " org-a\t", "runner", "runner")


@pytest.mark.parametrize(
    "presented",
    [
        pytest.param([], id="missing"),
        pytest.param([""], id="empty"),
        pytest.param([b""], id="empty-bytes"),
        pytest.param(["  \t"], id="blank"),
        pytest.param(["wrong"], id="wrong"),
        pytest.param([SECRET + "x"], id="longer"),
        pytest.param([SECRET[:-1]], id="shorter"),
        pytest.param([SECRET, SECRET], id="twice"),
        pytest.param([SECRET, "wrong"], id="right-and-wrong"),
        pytest.param(["é" * 20], id="non-ascii"),
        pytest.param([b"\xff\xfe"], id="no-text"),
        pytest.param(["x" * 60_000], id="60-KB"),
    ],
)
def test_a_header_that_is_not_the_secret_closes_the_internal_door(presented: list[bytes | str]) -> None:
    assert internal_door(presented=presented, org_id="org-a", matches=matches) is None


@pytest.mark.parametrize("presented", [[], ["é"], [b"\xc3\xa9"], [""], [" "], ["a", "a"]])
def test_such_a_header_is_closed_even_to_a_comparison_that_says_yes(presented: list[bytes | str]) -> None:
    assert internal_door(presented=presented, org_id="org-a", matches=lambda _: True) is None


@pytest.mark.parametrize("presented", [[""], [SECRET], ["anything"]])
def test_without_a_configured_secret_the_internal_door_is_closed(presented: list[bytes | str]) -> None:
    assert internal_door(presented=presented, org_id="org-a", matches=None) is None


@pytest.mark.parametrize(
    "org_id", [None, "", " ", "\n\t ", "\u3000", 0, 7, 1.5, True, False, [], ["org-a"], {}, {"a": 1}, "org-\ud800"]
)
def test_an_org_id_that_is_none_closes_both_doors(org_id: Any) -> None:
    assert internal_door(presented=[SECRET], org_id=org_id, matches=matches) is None
    assert runner_door({**token(), "org_id": org_id}, NOW_S) is None


@given(presented=st.lists(st.text() | st.binary() | st.just(SECRET), max_size=3), org_id=JSON_VALUES | st.just("org-a"))
def test_the_internal_door_opens_for_one_right_header_and_a_text_that_is_not_blank(
    presented: list[bytes | str], org_id: Any
) -> None:
    admitted = internal_door(presented=presented, org_id=org_id, matches=matches)
    right = presented in ([SECRET], [SECRET.encode()]) and isinstance(org_id, str) and org_id.strip() != ""
    assert (admitted is not None) is right
    if admitted is not None:
        assert (admitted.door, admitted.claims.org_id) == ("internal", org_id)


def test_the_runner_door_gives_the_tokens_own_claims() -> None:
    assert runner_door(token(), NOW_S) == Admitted("runner", Claims("runner-7", "org-a", "runner", "runner"))


@pytest.mark.parametrize("sub", [None, 7, ["internal-agent:org-a"]])
def test_a_token_without_a_subject_in_text_is_admitted_with_none(sub: Any) -> None:
    admitted = runner_door(token(sub=sub), NOW_S)
    assert admitted is not None
    assert admitted.claims.sub == ""


def test_a_token_whose_subject_looks_internal_is_a_runners() -> None:
    admitted = runner_door(token(sub="internal-agent:org-a"), NOW_S)
    assert admitted is not None
    assert admitted.door == "runner"


@pytest.mark.parametrize(("exp", "open_"), [(NOW_S - 1, False), (NOW_S, False), (NOW_S + 0.001, True)])
def test_a_token_is_valid_while_now_is_before_its_exp(exp: float, open_: bool) -> None:
    assert (runner_door(token(exp=exp), NOW_S) is not None) is open_


@pytest.mark.parametrize(("nbf", "open_"), [(NOW_S - 1, True), (NOW_S, True), (NOW_S + 0.001, False)])
def test_a_token_is_valid_from_its_nbf_on(nbf: float, open_: bool) -> None:
    assert (runner_door(token(nbf=nbf), NOW_S) is not None) is open_


NO_TIMES = ["", "9999999999", True, [], {}, float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("exp", [None, 0, -1, *NO_TIMES])
def test_a_token_without_an_exp_in_the_future_is_refused(exp: Any) -> None:
    assert runner_door(token(exp=exp), NOW_S) is None


@pytest.mark.parametrize("nbf", NO_TIMES)
def test_a_token_whose_nbf_is_no_time_is_refused(nbf: Any) -> None:
    assert runner_door(token(nbf=nbf), NOW_S) is None
    assert runner_door({**token(), "nbf": None}, NOW_S) is None


def test_a_time_beyond_any_float_is_compared_all_the_same() -> None:
    assert runner_door(token(exp=10**400), NOW_S) is not None
    assert runner_door(token(nbf=10**400), NOW_S) is None


@pytest.mark.parametrize("name", ["aud", "role"])
@pytest.mark.parametrize("value", [None, "", "Runner", "runner ", "admin", ["runner"], {"runner": 1}, 1, True])
def test_audience_and_role_are_the_text_runner(name: str, value: Any) -> None:
    assert runner_door(token(**{name: value}), NOW_S) is None


def test_a_token_with_nothing_in_it_is_refused() -> None:
    assert runner_door({}, NOW_S) is None


@given(payload=st.fixed_dictionaries({}, optional=dict.fromkeys(["sub", "org_id", "aud", "role", "exp"], JSON_VALUES)))
def test_no_payload_of_json_raises(payload: dict[str, Any]) -> None:
    admitted = runner_door(payload, NOW_S)
    assert admitted is None or payload["role"] == payload["aud"] == "runner"


@pytest.mark.parametrize("wrong", list(itertools.combinations(["org_id", "aud", "role", "exp"], 2)), ids="-".join)
def test_two_missing_claims_do_not_cancel_each_other(wrong: tuple[str, str]) -> None:
    assert runner_door(token(**dict.fromkeys(wrong)), NOW_S) is None
