"""A secret is found in every encoding and every place, and in nothing else; no message holds its value."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lasttick.laws.judges.secrets import CHARS_MIN, ENCODINGS, Hit, Searcher, Secret, forms, leaves, too_short, written

TOKEN = "s3cr&t/tøken+of=alice"
SECRET = Secret("TOKEN", TOKEN)
values = st.text(st.characters(codec="utf-8"), min_size=CHARS_MIN, max_size=40)


def encodings(document: Any, value: str = TOKEN) -> list[str]:
    return [hit.encoding for hit in Searcher([Secret("TOKEN", value)]).hits(document)]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("place", ["{}", "before {} after", "[{}]", "a={}&b=c"])
def test_each_encoding_is_found_inside_a_text(encoding: str, place: str) -> None:
    assert encodings({"a": ["b", place.format(written(TOKEN)[encoding])]}) == [encoding]


@given(values, st.binary(max_size=7), st.binary(max_size=7), st.booleans())
@example("alice:secret", b"u:", b"", False)
def test_base64_is_found_at_any_offset_in_both_alphabets(value: str, before: bytes, after: bytes, safe: bool) -> None:
    data = before + value.encode() + after
    text = (base64.urlsafe_b64encode if safe else base64.b64encode)(data).decode()
    assert "base64" in encodings({"note": f"Basic {text}"}, value)


@given(values)
@example("00000000\\n")
def test_what_the_usual_encoders_make_of_it_is_found(value: str) -> None:
    for text in (value, json.dumps(value), json.dumps(value, ensure_ascii=False), quote(value), quote(value, safe="")):
        assert encodings(text, value)
    assert "hex" in encodings(value.encode().hex().upper(), value)
    for encoding, text in written(value).items():
        assert encoding in encodings([text], value) or text == value


def test_base64_and_hex_are_found_over_line_breaks() -> None:
    packed = base64.b64encode(TOKEN.encode() * 3).decode()
    broken = "\r\n".join(packed[at : at + 20] for at in range(0, len(packed), 20))
    assert encodings({"pem": broken}) == ["base64"]
    assert encodings(TOKEN.encode().hex(" ")) == ["hex"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_a_document_without_it_has_none(document: Any) -> None:
    assume(TOKEN not in repr(document))
    assert encodings(document) == []


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"a": {"b/c": ["x", TOKEN]}}, "/a/b~1c/1"),
        (TOKEN, ""),
        ({"a": {TOKEN: 1}}, "/a/(a member's name)"),
        ({"a": [{TOKEN: TOKEN}]}, "/a/0/(a member's name)"),
        ([1, 2.5, (None, TOKEN)], "/2/1"),
    ],
)
def test_the_place_is_a_pointer_without_the_value(document: Any, pointer: str) -> None:
    assert Searcher([SECRET]).hits(document) == [Hit(SECRET, "plain", pointer)]


def test_a_pointer_ends_before_another_secret() -> None:
    other = Secret("OTHER", "another-secret")
    hits = Searcher([SECRET, other]).hits({"by": {TOKEN: {"x": "another-secret"}}})
    assert hits == [Hit(SECRET, "plain", "/by/(a member's name)"), Hit(other, "plain", "/by")]


def test_it_is_not_put_together_from_two_texts() -> None:
    half = len(TOKEN) // 2
    encoded = TOKEN.encode().hex()
    assert encodings([TOKEN[:half], TOKEN[half:]]) == []
    assert encodings({"a": encoded[:half], "b": encoded[half:]}) == []


def test_numbers_are_searched_too() -> None:
    assert encodings({"pin": 4711471147}, "4711471147") == ["plain"]


def test_a_document_of_any_depth_is_searched() -> None:
    document: Any = TOKEN
    for _ in range(5000):
        document = [document]
    assert encodings(document) == ["plain"]
    assert len(list(leaves(document))) == 1


def test_what_is_too_short_is_named_and_not_looked_for() -> None:
    short, long = Secret("PIN", "1234567"), Secret("TOKEN", "12345678")
    assert too_short([short, long]) == [short]
    assert [hit.secret for hit in Searcher([short, long]).hits("123456789")] == [long]


@given(values)
def test_a_redactor_that_knows_the_forms_hides_what_is_usually_written(value: str) -> None:
    known = forms(value)
    for text in (*written(value).values(), json.dumps(value), quote(value, safe=""), value.encode().hex().upper()):
        assert any(form in text for form in known)
    assert forms(value[: CHARS_MIN - 1]) == [value[: CHARS_MIN - 1]]
