"""What is one turn of the agent? The wire's request, one run of the agent program, and its last line as the answer.

The program gets a fenced environment and a command line of the model's making (`lasttick.model.secret_fence`), nothing
else. A list of tools is refused here before any program starts if a name in it is none, or if the program could not
tell two of them apart (ruling 8). Source: contract gateway "Parts" (wire, `_hermes_env`), rulings 8 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model import secret_fence, tool_names, trust
from lasttick.model.manifest import TOOLSET
from lasttick.model.tool_call import Refusal
from lasttick.model.tool_names import LIST_SEPARATOR, ToolNameError
from lasttick.ports import AgentProgram
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.http_json import Refused

ARGUMENT_BYTES_MAX = 131_000
"""One argument or variable of a program holds less than 128 KiB on Linux."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A readable request. `run_id` None: no run, so no tools. `mcp_tools` are pairs."""

    conversation_id: str
    text: str
    org_id: str | None
    run_id: str | None
    mcp_tools: tuple[str, ...]


def read_turn(body: Mapping[str, Any]) -> Turn:
    """The wire's body, keys in snake_case; unknown keys are passed over. Raises Refused (400)."""
    for name in ("conversation_id", "text"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise http_json.bad_request(f"`{name}` is no text", "text that is not empty")
    org_id, run_id = _id(body, "org_id"), _id(body, "run_id")
    toolsets, mcp_tools = _texts(body, "toolsets"), _texts(body, "mcp_tools")
    if toolsets != ((TOOLSET,) if mcp_tools else ()):
        raise http_json.bad_request("`toolsets` and `mcp_tools` disagree", f'`["{TOOLSET}"]` and a list, or neither')
    if (run_id is not None and org_id is None) or (mcp_tools and run_id is None):
        raise http_json.bad_request("a run has no org, or tools have no run", "tools of a run of an org, or none")
    try:
        for pair in mcp_tools:
            tool_names.parted(pair)
        tool_names.refuse_collisions(mcp_tools)
    except ToolNameError as error:
        raise Refused(Refusal(400, "BAD_TOOL_NAMES", str(error))) from error
    for name, value in (("text", body["text"]), ("mcp_tools", LIST_SEPARATOR.join(mcp_tools))):
        if not fits(value):
            raise http_json.bad_request(
                f"`{name}` can not be handed to a program",
                f"UTF-8 without NUL, at most {ARGUMENT_BYTES_MAX} bytes",
            )
    return Turn(body["conversation_id"], body["text"], org_id, run_id, mcp_tools)


async def take_turn(
    program: AgentProgram, command: Sequence[str], container_env: Mapping[str, str], platform_api_url: str, turn: Turn
) -> str:
    """The answer. Raises Refused with a code `PROGRAM_*` (502, 504); nothing of the program's output is in it."""
    argv = secret_fence.hermes_argv(command, turn.text, turn.mcp_tools)
    env = secret_fence.hermes_env(
        container_env,
        platform_api_url=platform_api_url,
        org_id=turn.org_id,
        run_id=turn.run_id,
        mcp_tools=turn.mcp_tools,
    )
    try:
        finished = await program.run(argv, env)
    except TimeoutError as error:
        raise _failed(504, "PROGRAM_TIMEOUT", "the agent program did not end in time") from error
    except OSError as error:
        raise _failed(502, "PROGRAM_MISSING", "the agent program can not be started") from error
    if finished.returncode != 0:
        raise _failed(502, "PROGRAM_FAILED", f"the agent program ended with status {finished.returncode}")
    answer = last_line(finished.stdout)
    if answer is None:
        raise _failed(502, "PROGRAM_SILENT", "the agent program gave no answer")
    return answer


def last_line(stdout: str) -> str | None:
    """Warnings of the program come before its answer, on the same stream (hermes.md, 2)."""
    lines = (line.strip() for line in reversed(stdout.split("\n")))
    return next((line for line in lines if line), None)


def _id(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and (trust.usable_org_id(value) is None or not fits(value)):
        raise http_json.bad_request(f"`{name}` is no id", "text that is not blank, or null")
    return value


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise http_json.bad_request(f"`{name}` is no list of texts", "one, or none")
    return tuple(value)


def fits(text: str) -> bool:
    """Can this be an argument or a variable of a program?"""
    try:
        return "\x00" not in text and len(text.encode("utf-8")) <= ARGUMENT_BYTES_MAX
    except UnicodeEncodeError:
        return False


def _failed(status: int, code: str, happened: str) -> Refused:
    message = f"{happened}; expected status 0 and an answer on standard output (contract gateway); look at its logs"
    return Refused(Refusal(status, code, message))
