"""Which of the agent container's variables may the agent program see, and how is it started?

The container holds secrets of the whole platform; the program runs text of strangers. The fence decides name by name,
from closed lists, so a variable that is added to the container tomorrow changes nothing but itself (GW-13). The agent
secret travels only in a turn that has tools, whose argv then shuts the program's own `terminal` out (ruling 10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lasttick.model.manifest import TOOLSET
from lasttick.model.tool_names import LIST_SEPARATOR

AGENT_SECRET = "AGENT_SERVICE_SECRET"
ORG_ID = "HUMANWORK_ORG_ID"
RUN_ID = "HUMANWORK_RUN_ID"
MCP_TOOLS = "HUMANWORK_MCP_TOOLS"
PLATFORM_URL = "PLATFORM_API_URL"

ALLOWED_NAMES = (
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TERM",
    "SHELL",
    "TMPDIR",
    "TZ",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
)
ALLOWED_PREFIXES = ("HERMES_", "HUMANWORK_")
DENIED_PARTS = ("SECRET", "TOKEN", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "COOKIE", "AUTH")
"""A name with one of these in it, in any case, is dropped whatever its prefix."""
FORWARDS = (PLATFORM_URL, "HUMANWORK_RUNNER_TOKEN", "HUMANWORK_MODEL_GATEWAY_TOKEN")
"""Passed although the rules above would drop them."""
WITH_TOOLS_ONLY = (AGENT_SECRET, MCP_TOOLS)
"""Passed in a turn with tools, dropped in every other, whatever the rules above say (ruling 10)."""


def fenced(container_env: Mapping[str, str], *, forward_agent_secret: bool) -> dict[str, str]:
    """The part of the container's environment that the agent program may see, values unchanged, sorted by name.

    `forward_agent_secret`: this turn has tools (ruling 10).
    """
    return {
        name: container_env[name]
        for name in sorted(container_env)
        if passes(name, forward_agent_secret=forward_agent_secret)
    }


def passes(name: str, *, forward_agent_secret: bool) -> bool:
    """May a variable of this name pass? Its value and its neighbours have no say."""
    if name in WITH_TOOLS_ONLY:
        return forward_agent_secret
    if name in FORWARDS:
        return True
    if sounds_secret(name):
        return False
    return name in ALLOWED_NAMES or name.startswith(ALLOWED_PREFIXES)


def sounds_secret(name: str) -> bool:
    """Casefolded, so that no letter that some system takes for an ASCII one slips through."""
    plain = name.casefold()
    return any(part.casefold() in plain for part in DENIED_PARTS)


def secret_travels(mcp_tools: Sequence[str]) -> bool:
    """Only in a turn with tools (ruling 10)."""
    return bool(mcp_tools)


def hermes_env(
    container_env: Mapping[str, str],
    *,
    platform_api_url: str,
    org_id: str | None,
    run_id: str | None,
    mcp_tools: Sequence[str],
) -> dict[str, str]:
    """The whole environment of one turn's agent program. What names the turn comes from the turn alone: an org, run or
    tool list that stands in the container's own environment never takes its place."""
    env = fenced(container_env, forward_agent_secret=secret_travels(mcp_tools))
    turn = {
        ORG_ID: org_id,
        RUN_ID: run_id,
        PLATFORM_URL: platform_api_url,
        MCP_TOOLS: LIST_SEPARATOR.join(mcp_tools) or None,
    }
    for name, value in turn.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    return env


def hermes_argv(program: Sequence[str], prompt: str, mcp_tools: Sequence[str]) -> list[str]:
    """One turn, one program: always `-q`, without which it opens its screen and takes no turn (ruling 9), and exactly
    `-t humanwork` when the turn has tools. `program` is the command, with its own first arguments if it has some."""
    toolsets = ["-t", TOOLSET] if mcp_tools else []
    return [*program, "chat", "-Q", *toolsets, "-q", shielded(prompt)]


def shielded(prompt: str) -> str:
    """A stranger's text that begins with `-` would be read as an option; behind a blank it is text."""
    return f" {prompt}" if prompt.startswith("-") else prompt
