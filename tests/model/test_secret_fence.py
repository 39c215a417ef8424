"""Does the fence let exactly the listed names through, each for itself, and start the agent as ruled?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick.model.secret_fence import fenced, hermes_argv, hermes_env

# The contract's lists, written out once more: a slip in the module's own lists is seen here.
NAMES = [
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
]
MARKERS = ["SECRET", "TOKEN", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "COOKIE", "AUTH"]
FORWARDS = ["PLATFORM_API_URL", "HUMANWORK_RUNNER_TOKEN", "HUMANWORK_MODEL_GATEWAY_TOKEN"]
TURN_WITH_TOOLS = ["AGENT_SERVICE_SECRET", "HUMANWORK_MCP_TOOLS"]


def passes(name: str, tools: bool) -> bool:
    """Oracle: the contract's sentence, in its own order."""
    if name in TURN_WITH_TOOLS:
        return tools
    if name in FORWARDS:
        return True
    if any(marker in name.upper() for marker in MARKERS):
        return False
    return name in NAMES or name.startswith(("HERMES_", "HUMANWORK_"))


KNOWN = [
    *NAMES,
    *FORWARDS,
    *TURN_WITH_TOOLS,
    "PLATFORM_API_TOKEN",
    "RUNNER_JWT_SECRET",
    "OPENAI_API_KEY",
    "DATABASE_URL",
]
MIXED = st.builds(
    lambda prefix, marker, suffix: prefix + marker + suffix,
    st.sampled_from(["HERMES_", "HUMANWORK_", "hermes_", "PATH", "X_", ""]),
    st.sampled_from([*MARKERS, *(m.lower() for m in MARKERS), *(m.title() for m in MARKERS), "HOME", "URL", ""]),
    st.text("AZ_9", max_size=3),
)
ENV_NAMES = st.sampled_from(KNOWN) | MIXED | st.text(st.characters(codec="ascii", exclude_characters="=\0"), min_size=1)
ENVS = st.dictionaries(ENV_NAMES, st.text(max_size=5), max_size=12)


@given(env=ENVS, tools=st.booleans())
@example(env=dict.fromkeys(KNOWN, "v"), tools=True)
@example(env=dict.fromkeys(KNOWN, "v"), tools=False)
def test_the_fence_lets_exactly_the_listed_names_through(env: dict[str, str], tools: bool) -> None:
    expected = {name: value for name, value in env.items() if passes(name, tools)}
    assert fenced(env, forward_agent_secret=tools) == expected


@given(env=ENVS, more=ENVS, tools=st.booleans())
def test_more_in_the_container_never_takes_anything_from_the_program(
    env: dict[str, str], more: dict[str, str], tools: bool
) -> None:
    """Monotone: what passes passes beside anything else, and a turn without tools sees no more than one with tools."""
    inside = fenced(env, forward_agent_secret=tools)
    wider = fenced({**more, **env}, forward_agent_secret=tools)
    assert inside.items() <= wider.items()
    assert fenced(env, forward_agent_secret=False).items() <= fenced(env, forward_agent_secret=True).items()


@given(env=ENVS, tools=st.booleans())
def test_a_second_fence_takes_nothing_more(env: dict[str, str], tools: bool) -> None:
    once = fenced(env, forward_agent_secret=tools)
    assert fenced(once, forward_agent_secret=tools) == once


@pytest.mark.parametrize(
    "name",
    [
        "PLATFORM_API_TOKEN",
        "RUNNER_JWT_SECRET",
        "PLATFORM_ADMIN_TOKEN",
        "DATABASE_URL",
        "OPENAI_API_KEY",
        "AWS_SESSION",
        "HERMES_API_KEY",
        "HUMANWORK_SECRET",
        "HUMANWORK_DB_PASSWORD",
        "HERMES_passwd",
        "HERMES_Cookie_JAR",
        "HUMANWORK_OAUTH",
        "HERMES_AUTHOR",
        "HERMES_MONKEY",
        "HERMES_\u017fecret",
        "HERMES_\u212aEY",
        "hermes_home",
        "path",
        "XDG_DATA_HOME",
        "PATHS",
        "",
    ],
)
def test_a_name_that_is_not_for_the_program(name: str) -> None:
    assert fenced({name: "v"}, forward_agent_secret=True) == {}


def test_the_program_sees_its_variables_sorted_whatever_the_containers_order() -> None:
    env = {"TZ": "UTC", "HERMES_HOME": "/h", "PATH": "/bin"}
    assert list(fenced(env, forward_agent_secret=False)) == ["HERMES_HOME", "PATH", "TZ"]


CONTAINER = {
    "PATH": "/bin",
    "AGENT_SERVICE_SECRET": "s3cret",
    "PLATFORM_API_TOKEN": "plat",
    "PLATFORM_API_URL": "http://ambient",
    "HUMANWORK_ORG_ID": "ambient-org",
    "HUMANWORK_RUN_ID": "ambient-run",
    "HUMANWORK_MCP_TOOLS": "ambient:tool",
}


def env_of(**changes: Any) -> dict[str, str]:
    turn = {"platform_api_url": "http://platform", "org_id": "org-a", "run_id": "r-1", "mcp_tools": [], **changes}
    return hermes_env(CONTAINER, **turn)


def test_a_turn_with_tools() -> None:
    assert env_of(mcp_tools=["a:b", "c:d"]) == {
        "PATH": "/bin",
        "AGENT_SERVICE_SECRET": "s3cret",
        "PLATFORM_API_URL": "http://platform",
        "HUMANWORK_ORG_ID": "org-a",
        "HUMANWORK_RUN_ID": "r-1",
        "HUMANWORK_MCP_TOOLS": "a:b,c:d",
    }


def test_a_turn_without_tools_carries_neither_the_secret_nor_a_tool_list() -> None:
    assert env_of() == {
        "PATH": "/bin",
        "PLATFORM_API_URL": "http://platform",
        "HUMANWORK_ORG_ID": "org-a",
        "HUMANWORK_RUN_ID": "r-1",
    }


def test_a_turn_without_a_run_does_not_take_the_containers() -> None:
    assert env_of(org_id=None, run_id=None) == {"PATH": "/bin", "PLATFORM_API_URL": "http://platform"}


@given(container=ENVS, tools=st.lists(st.sampled_from(["a:b", "c:d"]), max_size=2))
def test_no_container_changes_what_a_turn_is(container: dict[str, str], tools: list[str]) -> None:
    env = hermes_env(container, platform_api_url="http://p", org_id="org-a", run_id="r-1", mcp_tools=tools)
    assert (env["HUMANWORK_ORG_ID"], env["HUMANWORK_RUN_ID"], env["PLATFORM_API_URL"]) == ("org-a", "r-1", "http://p")
    assert env.get("HUMANWORK_MCP_TOOLS") == (",".join(tools) or None)
    assert env.get("AGENT_SERVICE_SECRET") == (container.get("AGENT_SERVICE_SECRET") if tools else None)
    turn = {"HUMANWORK_ORG_ID", "HUMANWORK_RUN_ID", "PLATFORM_API_URL", "HUMANWORK_MCP_TOOLS"}
    assert all(passes(name, bool(tools)) for name in env.keys() - turn)


def test_argv_with_and_without_tools() -> None:
    assert hermes_argv(["hermes"], "hello", []) == ["hermes", "chat", "-Q", "-q", "hello"]
    assert hermes_argv(["python", "-m", "agent"], "hello", ["a:b", "c:d"]) == [
        *("python", "-m", "agent", "chat", "-Q"),
        *("-t", "humanwork", "-q", "hello"),
    ]


@given(prompt=st.text() | st.sampled_from(["-t", "--yolo", "-t terminal", "--toolsets=terminal x", "-p"]))
def test_a_prompt_is_one_argument_and_never_an_option(prompt: str) -> None:
    argv = hermes_argv(["hermes"], prompt, [])
    assert argv[:-1] == ["hermes", "chat", "-Q", "-q"]
    assert not argv[-1].startswith("-")
    assert argv[-1] == (f" {prompt}" if prompt.startswith("-") else prompt)
