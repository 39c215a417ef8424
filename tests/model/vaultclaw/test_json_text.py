"""JSON is read as 64-bit floats and written in one way. Source: contract vaultclaw 1 "Numbers", "Canonical JSON"."""

import json
import math
import tracemalloc
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.json_text import (
    byte_order,
    canonical,
    parse,
    pretty,
    sha256_hex,
    sorted_keys,
    trim,
)

DEPTH_MAX = 200
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def nested(depth: int, opening: str, closing: str) -> str:
    return opening * depth + closing * depth


@given(VALUES)
def test_what_is_written_is_read_as_the_same(value: Any) -> None:
    read = parse(json.dumps(value))
    assert parse(canonical(read)) == read
    assert parse(pretty(read)) == read
    assert canonical(parse(canonical(read))) == canonical(read)


@given(VALUES)
def test_the_hashed_text_is_json_without_what_it_escapes(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text, parse_int=float) == json.loads(json.dumps(value), parse_int=float)
    assert not set(text) & {*"<>&\u2028\u2029", *(chr(code) for code in range(0x20))}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0", "0"),
        ("1.0", "1"),
        ("-1.50", "-1.5"),
        ("1e2", "100"),
        ("12345678901234567890", "12345678901234567000"),
        ("9007199254740993", "9007199254740992"),  # 2^53 + 1 is no 64-bit float
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("0.000001", "0.000001"),
        ("1e-6", "0.000001"),
        ("0.00000099", "9.9e-7"),
        ("1e-7", "1e-7"),
        ("-1.5e-10", "-1.5e-10"),
        ("5e-324", "5e-324"),
        ("1e-400", "0"),
        ("999999999999999900000", "999999999999999900000"),
        ("1e21", "1e+21"),
        ("1000000000000000000000", "1e+21"),
        ("-1.25e22", "-1.25e+22"),
        ("1e100", "1e+100"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ],
)
def test_how_a_number_is_written(text: str, written: str) -> None:
    assert canonical(parse(text)) == written


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e21)
@example(math.nextafter(1e21, 0))
@example(1e-6)
@example(math.nextafter(1e-6, 0))
def test_a_number_keeps_its_value_and_has_an_exponent_only_outside_of_the_bounds(value: float) -> None:
    text = canonical(value)
    assert float(text) == value
    assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21)
    assert not text.endswith(".0")


@given(st.floats(allow_nan=False, allow_infinity=False).filter(float.is_integer))
def test_an_integral_number_is_an_int_below_1e21(value: float) -> None:
    assert isinstance(parse(repr(value)), int) == (abs(value) < 1e21)


@pytest.mark.parametrize("text", ["1e309", "-1e309", "1" * 400, "NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1."])
def test_a_number_that_is_none_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Extra data|does not fit|is no JSON"):
        parse(f"[{text}]")


@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_the_deepest_nesting_that_is_read(pair: tuple[str, str]) -> None:
    opening, closing = pair
    filled = f"{opening * DEPTH_MAX}1{closing * DEPTH_MAX}"
    assert canonical(parse(filled)) == filled
    with pytest.raises(ValueError, match=f"deeper than {DEPTH_MAX}"):
        parse(opening + filled + closing)


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 5_000, 200_000])
def test_nesting_without_end_is_no_json(depth: int) -> None:
    with pytest.raises(ValueError, match="nested"):
        parse(nested(depth, "[", "]"))


@pytest.mark.parametrize("text", [r'"[[[\"[[["', r'"\\"', r'["\\\"{", "}"]'])
def test_brackets_in_a_text_are_no_nesting(text: str) -> None:
    inside = f"{'[' * (DEPTH_MAX - 2)}{json.dumps('[{' * 300)},{text}{']' * (DEPTH_MAX - 2)}"
    assert isinstance(parse(inside), list)


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "\\\\" * 500_000, '\\"[' * 330_000], ids=["plain", "escaped", "brackets"]
)
def test_a_long_text_takes_little_more_than_its_own_room(text: str) -> None:
    tracemalloc.start()
    try:
        parse(f'"{text}"')
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * len(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"a\udfffb"', "a\ufffdb"),
        (r'"\udc00\ud800"', "\ufffd\ufffd"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', r"\ud800"),  # a backslash, and no surrogate at all
        (r'{"\ud800": ["\uDFFF"]}', {"\ufffd": ["\ufffd"]}),
    ],
)
def test_a_lone_surrogate_is_replaced_and_a_pair_is_a_character(text: str, value: Any) -> None:
    assert parse(text) == value
    canonical(parse(text)).encode("utf-8")


@given(st.binary())
@example(b'"\xff"')
@example(b'"\xed\xa0\x80"')
@example(b"\xef\xbb\xbf1")
@example(b"")
@example(b"\x00")
def test_any_bytes_are_a_value_that_can_be_written_or_a_value_error(data: bytes) -> None:
    try:
        value = parse(data)
    except ValueError:
        return
    assert parse(canonical(value).encode("utf-8")) == value


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert parse(b'"a\xffb"') == "a\ufffdb"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('"\\\n\r\t\b\f', r'"\"\\\n\r\t\b\f"'),
        ("\0\x1f", r'"\u0000\u001f"'),
        ("<>&\u2028\u2029", r'"\u003c\u003e\u0026\u2028\u2029"'),
        ("/\x7fé日😀", '"/\x7fé日😀"'),
    ],
)
def test_how_a_text_is_written(text: str, written: str) -> None:
    assert canonical(text) == written


def test_a_file_is_indented_by_two_and_keeps_what_is_empty_on_one_line() -> None:
    value = {"b": [1, {"c": None}], "a": {}, "d": [], "<": True}
    assert pretty(value) == (
        '{\n  "b": [\n    1,\n    {\n      "c": null\n    }\n  ],\n  "a": {},\n  "d": [],\n  "\\u003c": true\n}'
    )
    assert canonical(value) == '{"b":[1,{"c":null}],"a":{},"d":[],"\\u003c":true}'


@given(st.lists(TEXTS, unique=True))
@example(["\uffff", "\U00010000"])  # UTF-16 has these two the other way round
def test_keys_are_in_the_order_of_their_bytes(texts: list[str]) -> None:
    in_bytes = sorted(texts, key=lambda text: text.encode("utf-8"))
    assert byte_order(texts) == in_bytes
    assert list(sorted_keys([dict.fromkeys(texts)])[0]) == in_bytes


@given(VALUES, VALUES)
def test_sorted_keys_changes_the_order_only(one: Any, other: Any) -> None:
    assume(one != other)
    forwards, backwards = {"x": one, "y": {"b": other, "a": one}}, {"y": {"a": one, "b": other}, "x": one}
    assert sorted_keys(forwards) == forwards
    assert canonical(sorted_keys(forwards)) == canonical(sorted_keys(backwards))


def test_unicode_white_space_is_trimmed_and_the_separators_are_not() -> None:
    spaces = "\t\n\v\f\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
    assert trim(f"{spaces}a b{spaces}") == "a b"
    for kept in "\x1c\x1d\x1e\x1f\u200b\ufeff\0":
        assert trim(f" {kept} ") == kept


def test_a_hash_is_of_the_bytes() -> None:
    assert sha256_hex("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
