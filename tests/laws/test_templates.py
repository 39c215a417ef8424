"""What a template becomes, and what stays as it is."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.templates import UnknownName, as_text, fill, fill_path, names_in

NAMES = {
    "mark": "lt-7qk2-alice",
    "mark_number": 7.25,
    "ttl_s": 5.0,
    "ttl_ms": 5000,
    "none": None,
    "yes": True,
    "list": [1, "a"],
    "odd": "{mark}}{{",
}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("Deploy {mark}", "Deploy lt-7qk2-alice"),
        ("{ttl_ms}", 5000),
        ("{ttl_s}", 5.0),
        ("{none}", None),
        ("{yes}", True),
        ("{list}", [1, "a"]),
        (" {ttl_ms}", " 5000"),
        ("sleep {ttl_s}", "sleep 5"),
        ("x={mark_number}", "x=7.25"),
        ("[{none}]", "[]"),
        ("is {yes}", "is true"),
        ("{list}!", '[1,"a"]!'),
        ("{mark}{mark}", "lt-7qk2-alicelt-7qk2-alice"),
        ("{odd}.", "{mark}}{{."),
    ],
)
def test_names_are_put_in(template: str, filled: Any) -> None:
    result = fill(template, NAMES)
    assert result == filled
    assert type(result) is type(filled)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ('{"a": {"b": "{mark}"}}', '{"a": {"b": "lt-7qk2-alice"}}'),
        ('{"a":{ttl_ms}}', '{"a":5000}'),
        ("{{mark}}", "{mark}"),
        ("{{{mark}}}", "{lt-7qk2-alice}"),
        ('{{"a": {{}}}}', '{"a": {}}'),
        ("{ mark }", "{ mark }"),
        ("{}{1}{a-b}{a.b}", "{}{1}{a-b}{a.b}"),
        ("}}{{", "}}{"),
        ("{", "{"),
        ("", ""),
    ],
)
def test_other_braces_stay(template: str, filled: str) -> None:
    assert fill(template, NAMES) == filled


def test_nested_values_are_filled_and_keys_are_not() -> None:
    value = {"{mark}": ["{ttl_ms}", {"x": "{mark}!"}], "n": 1, "t": ("{mark}",)}
    copy = {"{mark}": ["{ttl_ms}", {"x": "{mark}!"}], "n": 1, "t": ("{mark}",)}
    assert fill(value, NAMES) == {
        "{mark}": [5000, {"x": "lt-7qk2-alice!"}],
        "n": 1,
        "t": ["lt-7qk2-alice"],
    }
    assert value == copy


@pytest.mark.parametrize("call", [fill, fill_path])
def test_an_unknown_name_says_which_are_known(call: Any) -> None:
    with pytest.raises(UnknownName) as caught:
        call("GET /{resourc}", {"resource": 1, "mark": 2})
    assert (caught.value.name, caught.value.known) == ("resourc", ("resource", "mark"))
    assert "{resourc} has no value here" in str(caught.value)
    assert "expected: one of resource, mark" in str(caught.value)
    assert "did you mean resource?" in str(caught.value)


def test_an_unknown_name_with_no_names_at_all() -> None:
    with pytest.raises(UnknownName, match="no name at all") as caught:
        fill({"a": ["{print}"]}, {})
    assert "write {{print}} if the braces are meant as such" in str(caught.value)


@pytest.mark.parametrize(
    ("template", "names", "path"),
    [
        ("POST /v1/leases/{lease}/renew", {"lease": "a/b?c"}, "POST /v1/leases/a%2Fb%3Fc/renew"),
        ("/v1/{lease}", {"lease": "é x"}, "/v1/%C3%A9%20x"),
        ("GET /a/{n}", {"n": 5.0}, "GET /a/5"),
        ("GET /a/{n}/b", {"n": ".."}, "GET /a/%2E%2E/b"),
        ("GET /a/{n}", {"n": "."}, "GET /a/%2E"),
        ("GET /a/{n}", {"n": "\ud800"}, "GET /a/%3F"),
        ("GET {location}?wait=2", {"location": "/v1/requests/a%20b?x=1"}, "GET /v1/requests/a%20b?x=1&wait=2"),
        ("GET {location}?wait={n}", {"location": "http://lab/1", "n": "a&b"}, "GET http://lab/1?wait=a%26b"),
        ("GET {location}", {"location": "https://lab/1"}, "GET https://lab/1"),
        ("{location}", {"location": "/v1/x"}, "/v1/x"),
        ("GET {location}", {"location": "//elsewhere/x"}, "GET %2F%2Felsewhere%2Fx"),
        ("GET {location}", {"location": "httpx/y"}, "GET httpx%2Fy"),
        ("GET {location}", {"location": "jobs/1"}, "GET jobs%2F1"),
        ("GET /go/{location}", {"location": "/v1/x"}, "GET /go/%2Fv1%2Fx"),
        ("GET /q?f={{x}}", {}, "GET /q?f={x}"),
    ],
)
def test_parts_of_a_path_are_encoded(template: str, names: dict[str, Any], path: str) -> None:
    assert fill_path(template, names) == path


def test_names_in_are_in_order_and_once() -> None:
    value = {"{key}": ["{b} {a}", "{{c}}", {"x": "{a}{ d }"}], "n": 1}
    assert names_in(value) == ["b", "a"]
    assert names_in(7) == []


def test_what_json_does_not_know_is_still_text() -> None:
    assert as_text({1: object}) == '{"1":"<class \'object\'>"}'
    assert as_text(float("inf")) == "Infinity"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
TEXTS = st.lists(st.sampled_from(["{", "}", "{{", "}}", "{a}", "{b}", "x", '"']), max_size=8).map("".join)
TEMPLATES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(TEMPLATES, st.dictionaries(st.sampled_from(["a", "b", "x"]), JSON))
def test_any_template_is_filled_or_names_what_it_lacks(template: Any, names: dict[str, Any]) -> None:
    lacking = [name for name in names_in(template) if name not in names]
    if not lacking:
        fill(template, names)
        return
    with pytest.raises(UnknownName) as caught:
        fill(template, names)
    assert caught.value.name == lacking[0]


@given(JSON)
def test_a_name_alone_keeps_any_value(value: Any) -> None:
    assert fill("{a}", {"a": value}) is value


@given(st.text())
def test_doubled_braces_give_any_text_back(text: str) -> None:
    opened = text.count("{") >= text.count("}") and all(
        text[:n].count("{") >= text[:n].count("}") for n in range(len(text))
    )
    if opened:
        assert fill(text.replace("{", "{{").replace("}", "}}"), {}) == text


@given(st.text(st.characters(exclude_categories=("Cs",))).filter(lambda text: text not in (".", "..")))
def test_a_part_of_a_path_is_read_back_as_it_was(text: str) -> None:
    path = fill_path("GET /{a}/b", {"a": text})
    middle = path.removeprefix("GET /").removesuffix("/b")
    assert unquote(middle) == text
    assert "/" not in middle
    assert path.isascii()
