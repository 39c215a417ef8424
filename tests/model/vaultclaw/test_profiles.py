"""Requirements, their hash, and which profile fits. Source: contract vaultclaw 12, 21; VC-09."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, sha256_hex
from lasttick.model.vaultclaw.profiles import (
    Requirement,
    as_json,
    choose,
    derive,
    from_argument,
    idempotency_key_of,
    identity,
    match,
    minimal,
    normalise,
    profile_id_of,
)
from lasttick.model.vaultclaw.unbounded_profile import Profile, Slot, decode

A = {
    "slot": "api_key",
    "intent": "http.auth",
    "expected_secret_types": ["api-key"],
    "mode": "read",
    "target": "https://api.example.com",
}
B = {"slot": "api_key", "mode": "read", "target": "https://api.example.com"}
C = [
    {"slot": "z_tok", "mode": "write", "target": "https://b.example/x?a=1&b=<2>", "required": False},
    {
        "slot": " api_key ",
        "intent": " http.auth ",
        "expected_secret_types": ["oauth2", " api-key", "api-key", ""],
        "mode": "read",
        "target": "https://a.example",
    },
    {"slot": "api_key", "mode": "read", "target": "https://a.example"},
]
D = {"slot": "clé", "mode": "read", "target": 'https://例.example/\u2028\u007f\t"\\/'}

TEXT_A = (
    '[{"slot":"api_key","intent":"http.auth","expected_secret_types":["api-key"],"mode":"read",'
    '"target":"https://api.example.com","required":true}]'
)
TEXT_B = '[{"slot":"api_key","mode":"read","target":"https://api.example.com","required":true}]'
TEXT_C = (
    '[{"slot":"api_key","mode":"read","target":"https://a.example","required":true},'
    '{"slot":"api_key","intent":"http.auth","expected_secret_types":["api-key","oauth2"],"mode":"read",'
    '"target":"https://a.example","required":true},'
    '{"slot":"z_tok","mode":"write","target":"https://b.example/x?a=1\\u0026b=\\u003c2\\u003e","required":true}]'
)


def derived(*attachments: Any) -> tuple[Requirement, ...]:
    return derive({"secret_attachments": list(attachments)})


@pytest.mark.parametrize(
    ("attachments", "text", "digits"),
    [
        ([A], TEXT_A, "8042d5b7fd92"),
        ([B], TEXT_B, "f775acd08af6"),
        ([B, B], f"{TEXT_B[:-1]},{TEXT_B[1:]}", "32157e9f0322"),
        (C, TEXT_C, "b945063ca8ac"),
        ([D], None, "d4b4a471e501"),
    ],
)
def test_the_worked_examples_of_the_hash_byte_for_byte(attachments: list[Any], text: str | None, digits: str) -> None:
    requirements = derived(*attachments)
    if text is not None:
        assert canonical(as_json(requirements)) == text
    assert identity(requirements) == digits
    assert profile_id_of(requirements) == f"mcp.auto.{digits}"
    assert idempotency_key_of(requirements) == f"mcp-unbounded-profile-{digits}"
    assert from_argument(attachments) == requirements


def test_the_full_digest_of_set_a() -> None:
    assert sha256_hex(TEXT_A) == "8042d5b7fd92e12d4634defae6871306ec737db345ae7223c4db1ec3603a3adb"


def test_set_c_makes_two_slots_and_scores_eleven_against_itself() -> None:
    requirements = derived(*C)
    profile = minimal(requirements)
    assert profile.as_json() == {
        "type": "connector.unbounded.profile.v1",
        "profile_id": "mcp.auto.b945063ca8ac",
        "connector_id": "generic.http",
        "verb": "generic.http.request.v1",
        "slots": [
            {
                "slot": "api_key",
                "required": True,
                "allowed_intents": ["http.auth"],
                "expected_secret_types": ["api-key", "oauth2"],
                "allowed_modes": ["read"],
                "allowed_targets": ["https://a.example"],
            },
            {
                "slot": "z_tok",
                "required": True,
                "allowed_modes": ["write"],
                "allowed_targets": ["https://b.example/x?a=1&b=<2>"],
            },
        ],
    }
    assert match(profile, requirements).as_json() == {
        "profile_id": "mcp.auto.b945063ca8ac",
        "score": 11,
        "satisfied_requirements": [
            "api_key:read:https://a.example",
            "api_key:read:https://a.example",
            "z_tok:write:https://b.example/x?a=1&b=<2>",
        ],
        "missing_requirements": None,
    }


def exact(profile_id: str, **changed: Any) -> Profile:
    slot = {
        "slot": "api_key",
        "allowed_intents": ("http.auth",),
        "expected_secret_types": ("api-key",),
        "allowed_modes": ("read",),
        "allowed_targets": ("https://api.example.com",),
    }
    return Profile(profile_id, "generic.http", "generic.http.request.v1", slots=(Slot(**{**slot, **changed}),))


def test_the_tie_break_of_the_worked_example() -> None:
    profiles = [
        exact("p.zeta"),
        exact("p.beta"),
        exact("p.alpha", allowed_modes=("write",)),
        Profile("p.open", "generic.http", "generic.http.request.v1", slots=(Slot("api_key"),)),
    ]
    requirements = derived(A)
    matches = {profile.profile_id: match(profile, requirements) for profile in profiles}
    assert matches["p.alpha"].missing == ("api_key:read:https://api.example.com:mode",)
    assert matches["p.alpha"].as_json()["satisfied_requirements"] is None
    assert {name: found.score for name, found in matches.items()} == {
        "p.zeta": 5,
        "p.beta": 5,
        "p.alpha": 0,
        "p.open": 4,
    }
    for order in itertools.permutations(profiles):
        chosen = choose(order, requirements)
        assert chosen is not None
        assert (chosen[0].profile_id, chosen[1].score) == ("p.beta", 5)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"slot": "API_KEY"}, "slot_missing"),
        ({"allowed_intents": ("other",), "allowed_modes": ("write",)}, "intent"),
        ({"expected_secret_types": ("oauth2",), "allowed_targets": ("x",)}, "expected_secret_types"),
        ({"allowed_modes": ("write",), "allowed_targets": ("x",)}, "mode"),
        ({"allowed_targets": ("https://api.example.com/",)}, "target"),
    ],
)
def test_the_first_check_that_fails_gives_the_reason_and_no_points(changed: dict[str, Any], reason: str) -> None:
    found = match(exact("p", **changed), derived(A))
    assert (found.score, found.missing) == (0, (f"api_key:read:https://api.example.com:{reason}",))
    assert choose([exact("p", **changed)], derived(A)) is None


def test_values_are_compared_in_any_case_but_slots_are_not() -> None:
    shouted = exact(
        "p", allowed_modes=("READ",), allowed_targets=("HTTPS://API.EXAMPLE.COM",), allowed_intents=("X", "HTTP.AUTH")
    )
    assert match(shouted, derived(A)).score == 5


@pytest.mark.parametrize(
    "bad", [None, 1, "x", [], {}, {"slot": "s", "mode": "m"}, {"slot": " ", "mode": "m", "target": "t"}]
)
def test_a_malformed_attachment_is_an_internal_failure_with_empty_details(bad: Any) -> None:
    with pytest.raises(ToolFailure) as raised:
        derived(A, bad)
    assert (raised.value.code, raised.value.details) == ("MCP_INTERNAL", {})


@pytest.mark.parametrize("value", [None, [], {}, "x", 3])
def test_no_attachments_no_requirements(value: Any) -> None:
    assert derive({"secret_attachments": value}) == derive({}) == ()


@pytest.mark.parametrize("value", [None, [], {}, "x", [A, 1], [[]]])
def test_an_argument_that_is_no_list_of_objects_is_refused(value: Any) -> None:
    with pytest.raises(ToolFailure) as raised:
        from_argument(value)
    assert raised.value.code == "MCP_VALIDATION_ERROR"


def test_incomplete_items_of_the_argument_are_dropped() -> None:
    assert from_argument([{"slot": "s"}, B, {}]) == derived(B)
    assert from_argument([{}]) == ()


def test_odd_types_and_intents_are_ignored() -> None:
    assert derived({**B, "intent": 5, "expected_secret_types": [1, None, "  ", {}]}) == derived(B)
    assert derived({**B, "intent": " ", "expected_secret_types": "api-key"}) == derived(B)


TEXTS = st.sampled_from(["a", "b", "B", "é", "<"])
REQUIREMENTS = st.builds(
    Requirement, TEXTS, TEXTS, TEXTS, st.sampled_from(["", "x", "y"]), st.sampled_from([(), ("t",), ("t", "u")])
)


@given(
    st.lists(REQUIREMENTS, min_size=1, max_size=20, unique_by=lambda r: (r.slot, r.mode, r.target, r.intent)),
    st.randoms(),
)
def test_any_order_of_distinct_requirements_gives_the_same_id(requirements: list[Requirement], random: Any) -> None:
    shuffled = list(requirements)
    random.shuffle(shuffled)
    assert profile_id_of(normalise(shuffled)) == profile_id_of(normalise(requirements))


@given(st.lists(REQUIREMENTS, min_size=13, max_size=40))
def test_equal_keys_keep_their_order_at_any_length(requirements: list[Requirement]) -> None:
    def key(r: Requirement) -> tuple[str, ...]:
        return (r.slot, r.mode, r.target, r.intent)

    for _, group in itertools.groupby(normalise(requirements), key):
        same = list(group)
        assert same == [r for r in requirements if key(r) == key(same[0])]


@given(st.lists(REQUIREMENTS, min_size=1, max_size=8))
def test_a_made_profile_satisfies_what_it_was_made_from_also_read_back(requirements: list[Requirement]) -> None:
    wanted = normalise(requirements)
    made = minimal(wanted)
    read_back = decode(made.as_json())
    assert read_back == made
    found = match(read_back, wanted)
    assert found.missing == ()
    assert len(found.satisfied) == len(wanted)


def test_a_profile_is_decoded_to_its_members_trimmed_distinct_and_sorted() -> None:
    profile = decode(
        {
            "type": " t ",
            "profile_id": " p ",
            "connector_id": "c",
            "verb": None,
            "extra": 1,
            "slots": [
                {"slot": "b", "allowed_modes": [" w ", "", "r", "w", None]},
                {"slot": "a", "required": True, "x": 1},
            ],
        }
    )
    assert profile == Profile("p", "c", "", "t", (Slot("a", True), Slot("b", False, allowed_modes=("r", "w"))))
    assert profile.as_json()["slots"] == [
        {"slot": "a", "required": True},
        {"slot": "b", "required": False, "allowed_modes": ["r", "w"]},
    ]
    empty = decode({})
    assert empty is not None
    assert empty.as_json() == {"profile_id": "", "connector_id": "", "verb": ""}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "p",
        {"profile_id": 1},
        {"slots": {}},
        {"slots": ["s"]},
        {"slots": [None]},
        {"slots": [{"slot": 1}]},
        {"slots": [{"required": "yes"}]},
        {"slots": [{"allowed_modes": "read"}]},
        {"slots": [{"allowed_targets": [1]}]},
    ],
)
def test_what_has_a_member_of_another_type_is_no_profile(value: Any) -> None:
    assert decode(value) is None
