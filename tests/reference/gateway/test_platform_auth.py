"""The first token that is set, and a placeholder is no token."""

from __future__ import annotations

import pytest

from lasttick.reference.gateway.platform_auth import TOKENS, platform_api_token, setting


@pytest.mark.parametrize(
    ("environ", "token"),
    [
        ({}, None),
        (dict(zip(TOKENS, "abc", strict=True)), "a"),
        (dict(zip(TOKENS[1:], "bc", strict=True)), "b"),
        ({TOKENS[2]: "c"}, "c"),
        ({TOKENS[0]: "", TOKENS[1]: "b"}, "b"),
        ({TOKENS[0]: "${HUMANWORK_RUNNER_TOKEN}", TOKENS[2]: "c"}, "c"),
        ({"AGENT_SERVICE_SECRET": "s"}, None),
    ],
)
def test_the_first_that_is_set(environ: dict[str, str], token: str | None) -> None:
    assert platform_api_token(environ) == token


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("x", "x"),
        (" ", " "),
        ("", None),
        ("${NAME}", None),
        ("${env:NAME}", None),
        ("${}", None),
        ("${NAME}x", "${NAME}x"),
        ("x${NAME}", "x${NAME}"),
        ("$NAME", "$NAME"),
        ("${A}${B}", "${A}${B}"),
    ],
)
def test_a_literal_placeholder_is_unset(value: str, read: str | None) -> None:
    assert setting({"NAME": value}, "NAME") == read
    assert setting({}, "NAME") is None
