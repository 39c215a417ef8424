"""Which token does a program inside the agent's container show to the platform?

One rule for all callers of the platform's API; the tool gateway has a door of its own, see `tool_gateway_client`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TOKENS = ("HUMANWORK_RUNNER_TOKEN", "PLATFORM_API_TOKEN", "HUMANWORK_MODEL_GATEWAY_TOKEN")
"""In this order."""
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")


def setting(environ: Mapping[str, str], name: str) -> str | None:
    """The value of a variable; None when it is not set, empty, or nothing but a placeholder.

    The agent program fills `${NAME}` in its configuration from its own environment, and hands a name that is not set
    there on as that literal text (ruling 7): a `${AGENT_SERVICE_SECRET}` is no secret, it is the lack of one.
    """
    value = environ.get(name)
    return None if not value or is_placeholder(value) else value


def is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value) is not None


def platform_api_token(environ: Mapping[str, str]) -> str | None:
    """The first of `TOKENS` that is set; None when none is."""
    return next((value for name in TOKENS if (value := setting(environ, name)) is not None), None)
