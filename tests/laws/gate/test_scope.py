"""The scope file: written, read back, and what it sees."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.gate.errors import GateError
from lasttick.laws.gate.scope import Promise, Scope, parse_scope, policy_differences, policy_of, read_scope, weaker
from lasttick.laws.profiles.profile import Profile

LEASE = {"acquire": {"same": "lease.use"}, "use": {"tool": "x"}, "ttl_s": 20, "renewed_by": ["use", "renew"]}


def profile(**more: Any) -> Profile:
    return Profile.model_validate({"version": 1, "callers": {"alice": {}}, **more})


SCOPE = Scope(
    {"tools/no-secret-out": Promise(5, "answers"), "lease/exclusive": Promise(4, "effects")},
    {"lease.busy": "refuses", "lag_s": "1"},
)


def test_the_file_is_sorted_and_reads_back() -> None:
    text = SCOPE.text()
    assert text.splitlines()[1:] == [
        "law lease/exclusive cases=4 judged=effects",
        "law tools/no-secret-out cases=5 judged=answers",
        "policy lag_s=1",
        "policy lease.busy=refuses",
    ]
    assert parse_scope(text) == SCOPE


ids = st.from_regex(r"[a-z]{1,8}/[a-z-]{1,12}", fullmatch=True)
keys = st.from_regex(r"[a-z_]{1,8}\.[a-z_]{1,8}", fullmatch=True)
promises = st.builds(Promise, st.integers(0, 999), st.sampled_from(["answers", "effects"]))


@given(st.dictionaries(ids, promises), st.dictionaries(keys, st.from_regex(r"[a-z0-9.,]{1,12}", fullmatch=True)))
def test_whatever_is_written_reads_back(laws: dict[str, Promise], policy: dict[str, str]) -> None:
    assert parse_scope(Scope(laws, policy).text()) == Scope(laws, policy)


@given(st.text())
def test_no_text_is_more_than_a_message(text: str) -> None:
    with contextlib.suppress(GateError):
        parse_scope(text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lw lease/exclusive cases=4 judged=effects", "lasttick.scope:2: 'lw lease/exclusive"),
        ("law lease/exclusive cases=many judged=effects", "lasttick.scope:2: "),
        ("law lease/exclusive cases=4 judged=hope", "lasttick.scope:2: "),
        ("policy lag_s=1\npolicy lag_s=2", "lasttick.scope:3: lag_s occurs twice"),
    ],
)
def test_a_line_that_says_nothing_is_named(line: str, said: str) -> None:
    with pytest.raises(GateError, match="expected: ") as raised:
        parse_scope(f"# mine\n{line}\n")
    assert str(raised.value).startswith(said)


def test_no_file_is_no_scope_and_an_unreadable_one_is_a_message(tmp_path: Path) -> None:
    assert read_scope(tmp_path / "lasttick.scope") is None
    (tmp_path / "lasttick.scope").write_bytes(b"\xff\xfe")
    with pytest.raises(GateError, match=r"lasttick\.scope cannot be read"):
        read_scope(tmp_path / "lasttick.scope")


def test_the_policy_of_what_is_bound_defaults_included() -> None:
    policy = policy_of(profile(lease={**LEASE, "holder": {"tool": "y", "lag_s": 3}}))
    assert policy == {
        "lag_s": "1",
        "lease.busy": "refuses",
        "lease.capacity": "1",
        "lease.holder.lag_s": "3",
        "lease.in_flight": "pins",
        "lease.renewed_by": "use,renew",
        "lease.restart": "ends",
        "lease.session_end": "frees",
        "lease.tolerance_s": "0.25",
        "lease.ttl_s": "20",
    }
    assert policy_of(profile()) == {"lag_s": "1"}


def test_what_weakens_the_laws_of_tenants_is_policy_also_where_no_verb_is_bound() -> None:
    policy = policy_of(profile(session={"of": "tenant", "vars": ["run"]}, tools={"volatile": ["/headers/x-by"]}))
    assert policy == {
        "lag_s": "1",
        "session.of": "tenant",
        "session.vars": "run",
        "tools.foreign": "hidden",
        "tools.volatile": "/headers/x-by",
    }
    assert list(policy_of(profile(approval={"request": {"tool": "x"}, "timeout_s": 9}, lag_s=2))) == [
        "approval.on_timeout",
        "approval.restart",
        "approval.timeout_s",
        "approval.tolerance_s",
        "lag_s",
    ]


def test_a_policy_that_differs_is_a_sentence_whichever_way() -> None:
    assert list(policy_differences(SCOPE, {"lag_s": "1", "lease.busy": "refuses"})) == []
    assert list(policy_differences(SCOPE, {"lease.busy": "queues", "lease.holder.lag_s": "30"})) == [
        "lag_s: the scope says 1, the profile nothing",
        "lease.busy: the scope says refuses, the profile queues",
        "lease.holder.lag_s: the scope says nothing, the profile 30",
    ]


@pytest.mark.parametrize(
    ("cases", "judged", "lack"),
    [
        (4, "effects", ""),
        (5, "effects", ""),
        (3, "effects", "it judged 3 cases and the scope promises 4"),
        (4, "answers", "it was judged by answers and the scope promises effects"),
    ],
)
def test_less_than_promised(cases: int, judged: str, lack: str) -> None:
    assert weaker(Promise(4, "effects"), cases, judged) == lack
    assert weaker(Promise(0, "answers"), cases, judged) == ""
