"""GW-09: a secret in any of its disguises is found; other texts are left alone."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lasttick.reference.gateway.redaction import REDACTED, Redactor

SECRET = 'pl4nted-C@nary/+"\\'
OTHERS = ("other-secret-123",)
REDACTOR = Redactor((SECRET, *OTHERS))

printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


def base64_url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


DISGUISES = [
    lambda secret: secret,
    lambda secret: json.dumps(secret)[1:-1],
    lambda secret: secret.encode().hex(),
    lambda secret: secret.encode().hex().upper(),
    lambda secret: quote(secret, safe=""),
    lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    lambda secret: "".join(f"\\u{ord(letter):04x}" for letter in secret),
    lambda secret: base64.b64encode(secret.encode()).decode(),
    lambda secret: base64_url(secret.encode()),
    lambda secret: base64.b64encode(f"u:{secret}".encode()).decode(),
    lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
    lambda secret: base64_url(f"a{secret}zz".encode()),
]


@example(SECRET, DISGUISES[1], "", "")
@example("a?>b~~~\xff-secret", DISGUISES[7], "", "")
@given(secret=printable, disguise=st.sampled_from(DISGUISES), before=st.text(max_size=10), after=st.text(max_size=10))
def test_every_disguise_is_found(secret: str, disguise: object, before: str, after: str) -> None:
    hidden = disguise(secret)  # type: ignore[operator]
    redactor = Redactor([secret])
    assert redactor.text(f"{before}{hidden}{after}") == REDACTED
    assert redactor.json({"deep": [{"in": [f"{before} {hidden}"]}]}) == REDACTED
    assert redactor.json({hidden: 1}) == REDACTED


@given(text=st.text(st.characters(max_codepoint=127), max_size=60))
def test_other_texts_are_left_alone(text: str) -> None:
    assume("eyj" not in text.lower())
    assert Redactor(["a-secret-that-is-long"]).text(text) == text


@pytest.mark.parametrize("value", [{}, {"a": [1, 2.5, None, True, "x"]}, {"ü": "\ud800"}, {"path": "100%"}])
def test_json_is_kept_as_it_is(value: object) -> None:
    assert json.loads(REDACTOR.json(value)) == value


def test_tokens_of_anybody() -> None:
    assert REDACTOR.text("see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1") == REDACTED
    assert REDACTOR.text("see eyJhbG") == "see eyJhbG"


@pytest.mark.parametrize("before", ["", "a", "ab"])
def test_tokens_of_anybody_in_base64_and_hex(before: str) -> None:
    for token in ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1", "eyJ0eXAiOiJKV1QifQ.eyJzdWIiOiIxIn0.abc-_1"):
        raw = (before + token).encode()
        assert REDACTOR.text(f"see {base64_url(raw)}") == REDACTED
        assert REDACTOR.text(f"see {raw.hex()}") == REDACTED


def test_a_secret_with_some_characters_escaped() -> None:
    assert Redactor(["a+key/of=mine"]).text(r"a\u002bkey\/of=mine") == REDACTED
    assert Redactor(["a+key/of=mine"]).text(r"\u00 \ud800 \x") == r"\u00 \ud800 \x"


def test_numbers_and_short_secrets() -> None:
    assert Redactor(["1234567890"]).json({"pin": 1234567890}) == REDACTED
    assert Redactor(["abc"]).text("xabcx") == REDACTED
    assert Redactor(["abc"]).text("YWJj 616263") == "YWJj 616263"
    assert Redactor([]).text("anything") == "anything"
    assert Redactor([""]).text("anything") == "anything"
