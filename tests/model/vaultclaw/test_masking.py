"""Tokens are shown masked and found in every form. Source: contract vaultclaw 6, ruling 17; VC-02."""

import base64
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.masking import TOKENS_MAX, KnownTokens, masked_token

TOKEN = "vc-9f86d081884c7d659a2feaa0c55ad015+/=?"


def knowing(*tokens: str) -> KnownTokens:
    known = KnownTokens()
    for token in tokens:
        known.learn(token)
    return known


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("abcde", "***"),
        ("abcdef", "***"),  # 6 bytes: the contract's abc***def, but ruling 17 asks for 12
        ("a" * 11, "***"),
        ("abcdefghijkl", "abc***jkl"),
        ("éééééé", "é\ufffd***\ufffdé"),  # bytes, not characters
    ],
)
def test_how_a_token_is_shown(token: str, shown: str) -> None:
    assert masked_token(token) == shown


def encodings(token: str) -> dict[str, str]:
    data = token.encode()
    made = {
        "raw": token,
        "percent": quote(token, safe=""),
        "percent, lower case": quote(token, safe="").lower(),
        "json": token.replace("\\", "\\\\").replace('"', '\\"'),
    }
    for before in ("", "u", "us", "Bearer ", "name:"):
        for name, encode in (("b64", base64.b64encode), ("url64", base64.urlsafe_b64encode)):
            made[f"{name} after {before!r}"] = encode(before.encode() + data + b"!").decode()
    return made


def pieces(text: str) -> list[str]:
    return [text[i : i + 8] for i in range(len(text) - 7)]


@pytest.mark.parametrize("form", sorted(encodings(TOKEN)))
def test_an_echo_in_any_form_leaves_no_piece_of_eight(form: str) -> None:
    echo = f"the header was {encodings(TOKEN)[form]}, refused"
    shown = knowing(TOKEN).masked({"a": [echo], echo: 1})
    text = str(shown)
    assert "***" in text
    assert not [piece for piece in pieces(TOKEN) + pieces(base64.b64encode(TOKEN.encode()).decode()) if piece in text]
    assert "the header was" in text
    assert "refused" in text


def test_pieces_of_eight_are_cut_out_too() -> None:
    chunks = [TOKEN[i : i + 8] for i in range(0, len(TOKEN), 8)]
    shown = knowing(TOKEN).masked(chunks)
    assert shown[:4] == ["***"] * 4


def test_words_inside_a_token_do_not_wreck_honest_answers() -> None:
    known = knowing("vaultclaw-connectors-agent-0123456789")
    honest = {"tool": "vaultclaw_approval_wait", "hint": "ask connectors-agent"}
    assert known.masked(honest) == honest
    assert known.masked("x vaultclaw-connectors-agent-0123456789 y") == "x *** y"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("token abc refused", "token *** refused"), ("Bearer=abc.", "Bearer=***."), ("abcdef", "abcdef"), ("abc", "***")],
)
def test_a_short_token_is_cut_out_where_it_stands_alone(text: str, shown: str) -> None:
    assert knowing("abc").masked(text) == shown


def test_numbers_that_are_a_token() -> None:
    known = knowing("123456789012")
    assert known.masked([123456789012, 7, 1.5, True, None]) == ["***", 7, 1.5, True, None]


def test_a_token_too_long_for_pieces_is_cut_out_whole() -> None:
    token = "Q7" * 5000
    assert knowing(token).masked(f"<{token}>") == "<***>"


def test_the_oldest_token_is_forgotten_first_and_the_rest_stays() -> None:
    known = knowing(*(f"T0K3N-{n:08d}" for n in range(TOKENS_MAX + 1)))
    assert known.masked("T0K3N-00000001") == "***"
    assert known.masked(f"T0K3N-{TOKENS_MAX:08d}") == "***"
    assert known.masked("T0K3N-00000000") != "***T0K3N-00000000"


@given(
    token=st.text(st.characters(codec="utf-8", exclude_categories=["Zs", "Cc"]), min_size=12, max_size=60).filter(
        lambda t: t.strip() == t and len(set(t)) > 4
    ),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
def test_whatever_the_token_it_is_not_in_the_answer(token: str, before: str, after: str) -> None:
    shown: Any = knowing(token).masked({"m": before + token + after})
    assert token not in shown["m"]


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_without_a_token_everything_stays(value: Any) -> None:
    assert knowing().masked(value) == value
