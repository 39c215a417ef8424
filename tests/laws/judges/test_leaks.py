"""What came out is told by name and place; what somebody may know is not told; a canary shows that all is searched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lasttick.laws.judges import leaks as module
from lasttick.laws.judges.leaks import issued, kind_of, leaks, shows, unseen_canaries
from lasttick.laws.judges.secrets import Secret
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Effect, Said

from ..sayings import mark, said

TOKEN = Secret("TOKEN", "tok-en-of-alice")
ID = "0123456789abcdef"
PROFILE = Profile.model_validate(
    {
        "version": 1,
        "session": {"open": {"http": "POST /s", "out": {"key": "/body/key", "user": "/body/user"}}},
        "lease": {"use": {"http": "POST /u", "poll": {"http": "GET /u", "headers": {"X-Key": "{key}"}}}},
    }
)


def opened(number: int, caller: str, session_id: str = ID, **more: Any) -> Said:
    return said(number, "session.open", caller=caller, headers={"mcp-session-id": session_id}, **more)


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (said(1, "tools.list"), "list"),
        (said(1, "lease.holder"), "list"),
        (said(1, "tools.list", "denied"), "refusal"),
        (said(1, "lease.use", "busy"), "refusal"),
        (said(1), "ok"),
        (said(1, outcome="pending"), "ok"),
        (said(1, outcome="error"), "error"),
        (said(1, outcome="lost"), "error"),  # a 504 has a body too
        (said(1, outcome="lost", lost="cut"), ""),
        (said(1, "session.vanish", "lost"), ""),
        (said(1, "session.borrow"), ""),
        (said(1, "effects"), "effects"),
        (said(1, "log"), "log"),
    ],
)
def test_kinds_of_places(one: Said, kind: str) -> None:
    assert kind_of(one) == kind


def test_a_secret_of_the_profile_may_be_told_to_nobody() -> None:
    found = leaks([TOKEN], [said(7, outcome="denied", error={"message": f"{TOKEN.value} may not"})], [])
    assert [str(leak) for leak in found] == [
        "TOKEN, plain, in the refusal of tools.call to alice, /error/message (answer 7, x/y)"
    ]


@pytest.mark.parametrize(
    ("one", "where"),
    [
        (said(3, headers={"x-debug": TOKEN.value}), "the answer of tools.call to alice, /headers/x-debug"),
        (said(3, "tools.list", body={"tools": [{"name": "a", "description": TOKEN.value}]}), "the list of tools.list"),
        (said(3, outcome="error", error={"message": TOKEN.value}), "the error of tools.call to alice"),
        (said(3, "log", body=["x", TOKEN.value]), "what log shows, /body/1 (answer 3, x/y)"),
        (said(3, "effects", body={"effects": [{"headers": {"authorization": TOKEN.value}}]}), "what effects shows"),
        (said(3, reply_raw=f"<html>{TOKEN.value}"), "the answer of tools.call to alice, /raw"),
    ],
)
def test_every_place_is_named(one: Said, where: str) -> None:
    (leak,) = leaks([TOKEN], [one], [])
    assert leak.where.startswith(where)
    assert TOKEN.value not in str(leak)


def test_what_a_world_saw_at_the_resource_is_searched() -> None:
    row = {"args": {"headers": {"Authorization": f"Bearer {TOKEN.value}"}}}
    (leak,) = leaks([TOKEN], [], [Effect("m", row={}), Effect("m", row=row)])
    assert leak.where == "what reached the resource, /1/args/headers/Authorization"


def test_a_session_id_is_known_to_whom_it_was_given() -> None:
    history = [opened(1, "alice"), said(2, body=ID), said(3, body=ID, caller="bob"), said(4, "log", body=ID)]
    secrets = issued(PROFILE, history)
    assert secrets == [Secret("id of session alice-1", ID, ("alice",))]
    assert [leak.where for leak in leaks(secrets, history, [])] == [
        "the answer of tools.call to bob, /body (answer 3, x/y)",
        "what log shows, /body (answer 4, x/y)",
    ]


def test_who_presents_a_borrowed_session_knows_its_id() -> None:
    borrowed = said(2, "session.borrow", caller="bob", inputs={"of": "alice"})
    history = [opened(1, "alice"), borrowed, said(3, outcome="denied", caller="bob", headers={"mcp-session-id": ID})]
    secrets = issued(PROFILE, history)
    assert secrets[0].known_to == ("alice", "bob")
    assert leaks(secrets, history, []) == []


def test_outputs_of_an_opening_are_secrets_when_they_travel_in_a_header() -> None:
    history = [said(1, "session.open", out={"key": "key-of-alice", "user": "alice@example"})]
    assert issued(PROFILE, history) == [Secret("output key of session alice-1", "key-of-alice", ("alice",))]
    assert issued(PROFILE, [replace(history[0], outcome="error")]) == []
    assert issued(PROFILE, [said(1, out={"key": "no-opening"})]) == []


def test_of_a_log_that_is_read_again_and_again_only_the_last_reading_is_searched() -> None:
    history = [said(number, verb, body=TOKEN.value) for number, verb in ((1, "effects"), (2, "effects"), (3, "log"))]
    assert [leak.where for leak in leaks([TOKEN], history, [])] == [
        "what effects shows, /body (answer 2, x/y)",
        "what log shows, /body (answer 3, x/y)",
    ]


def test_a_reading_that_failed_is_searched_too() -> None:
    history = [said(1, "effects", body=TOKEN.value), said(2, "effects", "error", body=TOKEN.value)]
    assert len(leaks([TOKEN], history, [])) == 2


def test_a_mark_is_seen_as_word_or_number() -> None:
    assert shows({"a": ["x lt-t1-7 y"]}, mark(7))
    assert shows({"args": {"x1": 1.007}}, mark(7))
    assert not shows({"a": ["lt-t1-77"], "b": 1.0075}, mark(7))


HISTORY = [opened(1, "alice"), said(2, "tools.list"), said(3, outcome="busy"), said(4, outcome="error"), said(5, "log")]


def test_a_canary_is_found_in_every_part_of_every_kind_of_answer() -> None:
    assert unseen_canaries(HISTORY, [Effect("m", row={"mark": "m"})]) == []


def test_a_part_that_is_not_searched_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "document_of", lambda reply: {"body": reply.body})
    unseen = unseen_canaries(HISTORY, [])
    assert "refusal /error, base64" in unseen
    assert not [place for place in unseen if "/body" in place]


def test_an_effect_that_is_not_searched_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_rows", lambda effects: [])
    assert "effects, hex" in unseen_canaries([], [Effect("m", row={})])
