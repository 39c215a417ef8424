"""Which tools has the agent of its own, and what does its `terminal` give away?

Without `-t` the model is offered all of `DEFAULT_TOOLS` beside those of the servers; `-t` with a server's name offers
that server's alone, and then there is no terminal (contract gateway, ruling 10). A command runs in nearly the agent's
whole environment, `AGENT_SERVICE_SECRET` included: only the keys of model providers are withheld. What prints the
whole environment is masked by name (`NAME=***`); `printenv NAME` is not (measured on both versions).

Only `terminal` works here; the model is told so if it calls another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from lasttick_fakes.hermes.servers import Offered

Shell: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[tuple[str, int]]]
"""(command, environment) -> what it wrote to both its outputs, exit status."""

TOOLSETS: dict[str, tuple[str, ...]] = {
    "clarify": ("clarify",),
    "code_execution": ("execute_code",),
    "cronjob": ("cronjob",),
    "delegation": ("delegate_task",),
    "file": ("patch", "read_file", "search_files", "write_file"),
    "memory": ("memory",),
    "session_search": ("session_search",),
    "skills": ("skill_manage", "skill_view", "skills_list"),
    "terminal": ("process", "terminal"),
    "todo": ("todo",),
    "tts": ("text_to_speech",),
    "vision": ("vision_analyze",),
}
DEFAULT_TOOLS: tuple[str, ...] = tuple(sorted(tool for tools in TOOLSETS.values() for tool in tools))
EVERYTHING = ("all", "*")
TERMINAL = "terminal"

_WITHHELD = re.compile(r"(OPENAI|OPENROUTER|ANTHROPIC|GOOGLE|DEEPSEEK|MISTRAL|GROQ|XAI)_(API_KEY|TOKEN|BASE_URL)")
_DUMPS = re.compile(r"^\s*(env|printenv|set|export|declare)\b\s*($|[|;&>])")
_SECRET_LINE = re.compile(r"([A-Z0-9_]*(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)[A-Z0-9_]*)=(\S+)")


def offered(names: tuple[str, ...]) -> list[Offered]:
    """Tools of the agent's own, as the model is offered them. The texts are ours: only names are measured."""
    return [Offered(name, f"The agent's own {name}.", _schema(name), name, method="") for name in names]


def _schema(name: str) -> dict[str, Any]:
    if name == TERMINAL:
        command = {"type": "string", "description": "The command to execute"}
        return {"type": "object", "properties": {"command": command}, "required": ["command"]}
    return {"type": "object", "properties": {}}


def command_env(environ: Mapping[str, str], home: str, session_id: str) -> dict[str, str]:
    """What a command of `terminal` finds in its environment."""
    inherited = {name: value for name, value in environ.items() if not _WITHHELD.fullmatch(name)}
    return {**inherited, "HERMES_HOME": home, "HERMES_INTERACTIVE": "1", "HERMES_SESSION_ID": session_id}


async def run_terminal(shell: Shell, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """The tool's answer as JSON text."""
    command = str(arguments.get("command", ""))
    output, status = await shell(command, environ)
    output = output.strip()
    if _DUMPS.match(command):
        output = _SECRET_LINE.sub(lambda found: f"{found[1]}={_masked(found[2])}", output)
    return json.dumps({"output": output, "exit_code": status, "error": None}, ensure_ascii=False)


def not_modelled(name: str) -> str:
    return json.dumps({"error": f"the tool {name} is not modelled by this fake; expected terminal or a server's tool"})


def _masked(value: str) -> str:
    return "***" if len(value) < 18 else f"{value[:6]}...{value[-4:]}"


async def toy_shell(command: str, environ: Mapping[str, str]) -> tuple[str, int]:
    """For worlds without processes: `env`, `printenv [NAME]`, `echo TEXT` with `$NAME`, each also `| sort`."""
    command, _, rest = command.partition("|")
    name, _, text = command.strip().partition(" ")
    listing = "\n".join(f"{key}={value}" for key, value in environ.items())
    if rest.strip() not in ("", "sort"):
        return f"sh: {rest.strip()}: not found in this toy shell", 127
    if name == "echo":
        output = re.sub(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", lambda found: environ.get(found[1], ""), text.strip("'\""))
    elif name == "printenv" and text.strip():
        return environ.get(text.strip(), ""), 0 if text.strip() in environ else 1
    elif name in ("env", "printenv") and not text.strip():
        output = listing
    else:
        return f"sh: {name}: not found in this toy shell", 127
    return ("\n".join(sorted(output.splitlines())) if rest else output), 0
