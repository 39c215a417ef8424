"""What of the agent's container does the program see, that strangers talk to? Source: contract gateway, secret fence,
ruling 10. The lists are written out here once more, so that a wrong fence cannot agree with itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick_fakes.model import Call

from .steps_lists import ORG, SKILL
from .steps_turns import LIST, say_only, server_of

SECRET = "AGENT_SERVICE_SECRET"
NAMES = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR", "TZ")
NAMES += ("PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE")
PREFIXES = ("HERMES_", "HUMANWORK_")
PARTS = ("SECRET", "TOKEN", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "COOKIE", "AUTH")
FORWARDS = ("PLATFORM_API_URL", "HUMANWORK_RUNNER_TOKEN", "HUMANWORK_MODEL_GATEWAY_TOKEN")
OF_THE_TURN = ("HUMANWORK_ORG_ID", "HUMANWORK_RUN_ID", LIST)

LISTED = {name: "" for name in NAMES if name not in ("PATH", "HOME", "TERM", "LANG", "USER")}
NAMED = {
    "PLATFORM_API_TOKEN": "denied-platform",
    "HUMANWORK_RUNNER_TOKEN": "passed-runner",
    "HUMANWORK_MODEL_GATEWAY_TOKEN": "passed-model",
    "HUMANWORK_RUNNER_TOKEN_OLD": "denied-old",
    "HERMES_MODE": "passed-mode",
    "HERMES_API_KEY": "denied-key",
    "HERMES_Monkey": "denied-monkey",
    "HUMANWORK_author": "denied-author",
    "XHERMES_MODE": "denied-prefix",
    "hermes_mode": "denied-case",
    "PATHS": "denied-name",
    "path": "denied-case-name",
    "DATABASE_URL": "denied-database",
    "HUMANWORK_ORG_ID": "denied-org",
    "HUMANWORK_RUN_ID": "denied-run",
    LIST: "denied:list",
}

_WORDS = ("MODE", "level", "MONKEYS", "oAuth2", "Author", *PARTS, *(part.lower() for part in PARTS))
_NAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["HERMES_X_", "HUMANWORK_X_", "XHERMES_", "hermes_", "APP_", "LC_"]),
    st.sampled_from(_WORDS),
    st.sampled_from(["", "_1", "S"]),
)
CONTAINERS = st.dictionaries(_NAMES, st.sampled_from(["", "a value", "ä=ö", "${HOME}"]), max_size=12)


def _passes(name: str, *, with_tools: bool) -> bool:
    if name in (SECRET, LIST):
        return with_tools
    if name in FORWARDS:
        return True
    if any(part in name.upper() for part in PARTS):
        return False
    return name in NAMES or name.startswith(PREFIXES)


async def _gateway(world: World, container: dict[str, str]) -> Any:
    gateway = await world.gateway(agent_environ=container)
    await say_only(gateway)
    return gateway


async def _turn(gateway: Any, *, with_tools: bool, text: str = "Hello?") -> Any:
    """One turn, as it was seen from outside."""
    await gateway.org(
        ORG,
        bindings=["order_lookup"],
        skills={SKILL: ["order_lookup"]},
        flags={"tool_dispatch_enabled": with_tools},
    )
    answer = await gateway.chat(ORG, text, skill=SKILL)
    assert answer.http_status == 200, answer.body
    turn = (await gateway.hermes_turns())[-1]
    assert turn.run_id == answer.run_id
    return turn


@scenario("GW-13")
@given(container=CONTAINERS)
@settings(max_examples=4)
@example(container=NAMED)
@example(container=LISTED)
async def test_the_program_sees_what_the_lists_let_through(world: World, container: dict[str, str]) -> None:
    """A container with variables of all kinds, and a turn without and one with tools. Each variable passes by its name
    alone, so more of them never change what becomes of another; its value is unchanged; org, run and list are the
    turn's own; and the secret passes in the turn with tools only."""
    gateway = await _gateway(world, container)
    for with_tools in (False, True):
        turn = await _turn(gateway, with_tools=with_tools)
        seen = turn.env
        for name, value in container.items():
            if name in OF_THE_TURN:
                assert seen.get(name) != value, f"{name} of the container took the turn's place"
            elif _passes(name, with_tools=with_tools):
                assert seen.get(name) == value, f"{name} did not pass"
            else:
                assert name not in seen, f"{name} passed"
        assert [name for name in seen if not _passes(name, with_tools=with_tools)] == []
        assert seen["HUMANWORK_RUN_ID"] == turn.run_id
        assert (SECRET in seen, LIST in seen) == (with_tools, with_tools)
        # Nor does a value that was kept out come in under another name, here or one program further.
        everything = [*seen.values(), *(value for child in turn.children for value in child.env.values())]
        assert [value for value in everything if value.startswith("denied")] == []
        assert gateway.secrets.platform_token not in everything
        server = server_of(turn)
        assert server is not None, turn.children
        assert server.env[SECRET] == (gateway.secrets.agent_secret if with_tools else f"${{{SECRET}}}")


@scenario("GW-13", "GW-12")
@pytest.mark.parametrize("with_tools", [False, True])
async def test_the_programs_terminal_prints_no_secret(world: World, with_tools: bool) -> None:
    """The model was talked into printing the secret. Without tools its terminal is there, and prints an empty line
    where the secret would be; with tools the secret is there, and the terminal is not."""
    gateway = await _gateway(world, {"HERMES_MODE": "seen"})
    command = f'echo "mode=$HERMES_MODE secret=${SECRET}."'
    await gateway.model.script("print", Call.one("terminal", command=command), "It says {result}")
    await _turn(gateway, with_tools=with_tools, text="print it")
    last = (await gateway.model.requests())[-1]
    told = [message["content"] for message in last.messages if message.get("role") == "tool"]
    assert len(told) == 1, told
    assert gateway.secrets.agent_secret not in str(last.body)
    assert ("mode=seen secret=." in told[0]) == (not with_tools), told
    assert ("terminal" in (last.tools or ())) == (not with_tools)
