"""The inputs that a text names: each pattern, in their order; and a megabyte of anything in under a second."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.routing import extract
from lasttick.model.vaultclaw.routing.resolve import resolve_text

from .sentences import any_texts, loose_texts


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("To: A.b+c@Example.com, a.B+c@example.COM and x@y.co.uk.", {"to": ["A.b+c@Example.com", "x@y.co.uk"]}),
        ("a@b.c1 a@b._x @c.de a@.com a@b.com_ e", {}),
        ("a@b.com@c.de f@g.hi.j1", {"to": ["a@b.com", "f@g.hi"]}),
        ("..lead@ex.org", {"to": ["lead@ex.org"]}),
        ("with the subject 'Hi there' and body x", {"subject": "Hi there", "text_plain": "x"}),
        ('subject is "A, b" ok', {"subject": "A, b"}),
        ("subject as Plans, then", {"subject": "Plans"}),
        ("subject to be Plans. Then", {"subject": "Plans"}),
        ("subject Plans and body x", {"subject": "Plans", "text_plain": "x"}),
        ("subject 'A: b'", {"subject": "A: b"}),
        ("with subject Plans\nfor us, then", {"subject": "Plans\nfor us"}),
        ("subject Plans", {}),
        ("body is 'a, b'", {"text_plain": "a, b"}),
        ("message body = a b, c", {"text_plain": "a b"}),
        ("body to say one, two; three", {"text_plain": "one, two; three"}),
        ("body 'a, b'", {"text_plain": "a, b"}),
        ("Message_ID: Ab-1", {"message_id": "Ab-1"}),
        ("message-id is 77", {"message_id": "77"}),
        ("message 1234567", {}),
        ("message 12345678-", {"message_id": "12345678"}),
        ("thread id = t1 and thread abcdefgh", {"thread_id": "t1"}),
        ("thread abcdefgh", {"thread_id": "abcdefgh"}),
        ("label: 'Work_1'", {"label": "work_1"}),
        ("my INBOX", {"label": "inbox"}),
        ("label is Work in my inbox", {"label": "work"}),
        ("top 25", {"page_limit": 25}),
        ("first 1000", {}),
        ("12 messages of the last 3", {"page_limit": 3}),
        ("0 emails", {}),
        ("please post it, then get", {"method": "POST"}),
        ("fetch HTTPS://a.b/c?d='e'", {"url": "HTTPS://a.b/c?d="}),
        ("ahttp://a.b", {}),
        (
            "Passport-scan, birth  certificate & driver license",
            {
                "document_attachments": [
                    {"type_id": "identity.birth_certificate"},
                    {"type_id": "identity.drivers_license"},
                    {"type_id": "identity.passport"},
                ]
            },
        ),
        ("", {}),
    ],
)
def test_inputs_of(text: str, inputs: dict[str, Any]) -> None:
    assert extract.inputs_of(text) == inputs


NAIVE = [
    re.compile(
        rf"{head}['\"]?([^'\"\n,.;:!?]+?)['\"]?{extract.S}+and{extract.S}+(?:message{extract.S}+)?body\b", re.A | re.I
    )
    for head in (rf"\bwith{extract.S}+(?:the{extract.S}+)?subject{extract.S}+", rf"\bsubject{extract.S}+")
]


@pytest.mark.parametrize("which", [0, 1])
@given(text=loose_texts)
@example(text="subject ' and body and body")
@example(text="subject a, subject b and body")
@example(text="with subject x'\n and message body")
def test_the_linear_search_before_a_body_is_the_plain_pattern(which: int, text: str) -> None:
    """Except where the plain pattern finds nothing but blanks, which counts as nothing found."""
    found = NAIVE[which].search(text)
    expected = found[1].strip() if found else ""
    assume(not found or expected)
    assert extract._before_body(extract._BEFORE_BODY[which], text) == expected


ADDRESS = re.compile(r"\b[a-z0-9._%+\-]+@[a-z0-9.\-]+\.[a-z]{2,}\b", re.A | re.I)


@given(text=st.text(alphabet="aB1._-@ é", max_size=40))
@example(text="a@b.com-x@y.de")
def test_addresses_are_those_of_the_plain_pattern(text: str) -> None:
    distinct = {found.lower(): found for found in reversed(ADDRESS.findall(text))}
    assert extract.addresses(text) == [distinct[key] for key in dict.fromkeys(f.lower() for f in ADDRESS.findall(text))]


@given(text=any_texts)
def test_no_input_is_ever_empty(text: str) -> None:
    assert all(extract.inputs_of(text).values())


UNITS = (
    *(
        "a",
        " ",
        "-",
        "'",
        "\n",
        "@",
        ".",
        "é",
        "subject ",
        "subject is '",
        "subject\n",
        "with the ",
        "body is ",
        "body\t",
    ),
    *(
        "with subject x ",
        "and body ",
        "a@",
        "a@b.",
        "a.b-",
        "message ",
        "message id ",
        "thread -",
        "label: ",
        "9 ",
        "top ",
    ),
    *(
        "http://",
        "weather in ",
        "weather in a-",
        "about ",
        "about ,",
        "that ",
        "that '",
        "passport ",
        "İ",
        "send email x_ ",
    ),
)
ENDS = ("", ", and body x", "\nx_")


@pytest.mark.parametrize("unit", UNITS)
def test_any_repetition_takes_linear_time(unit: str) -> None:
    """Whatever is repeated, and whatever it ends with. A pattern that scans twice needs minutes for this."""
    for end in ENDS:
        taken_s = processor_s("send email " + unit * (100_000 // len(unit)) + end)
        assert taken_s < 0.3, f"{unit!r} ending in {end!r}: {taken_s:.2f} s"


@pytest.mark.parametrize("unit", ["with subject x ", "message ", "a.b-", "9 "])
def test_a_megabyte_resolves_in_a_second(unit: str) -> None:
    assert processor_s("send email " + unit * (1_000_000 // len(unit)) + ", and body x") < 1


def processor_s(text: str) -> float:
    """Time of this process only: the machine may be busy with other things."""
    begin = time.process_time()
    resolve_text(text, {}, allow_search=True)
    return time.process_time() - begin
