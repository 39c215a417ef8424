"""What programs did one turn of the agent run, with which arguments and in which environment? Seen from outside them.

In virtual mode the calls that would start them are seen; in process mode the operating system is asked. Environments
hold secrets: only names of variables go into a trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Program:
    """A program that ran. `env` is its whole environment. `pid`: in virtual mode that of this process."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    pid: int

    def as_json(self) -> dict[str, Any]:
        return {"argv": list(self.argv), "env": dict(self.env), "pid": self.pid}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Program:
        return cls(tuple(line["argv"]), dict(line["env"]), line["pid"])


@dataclass(frozen=True, slots=True)
class HermesTurn:
    """One run of the agent program. `children` are the programs it started; `status` is None while it runs, or when it
    was ended for taking too long."""

    run_id: str | None
    program: Program
    children: tuple[Program, ...] = ()
    status: int | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        return self.program.argv

    @property
    def env(self) -> Mapping[str, str]:
        return self.program.env

    def as_json(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "program": self.program.as_json(),
            "children": [child.as_json() for child in self.children],
            "status": self.status,
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> HermesTurn:
        children = tuple(Program.from_json(child) for child in line["children"])
        return cls(line["run_id"], Program.from_json(line["program"]), children, line["status"])


def told_start(argv: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """What the trace says of a program's start. Its path differs between machines, so only what follows is told."""
    return {"arguments": list(argv[1:]), "env": sorted(env)}


def prompt_of(argv: Sequence[str]) -> str:
    return argv[argv.index("-q") + 1] if "-q" in argv[:-1] else ""


class Correlation:
    """Which run does a request to the model belong to? The model is not told; but the agent program that asks was
    started for one run with one prompt. Of two turns with the same prompt, the one that began last."""

    def __init__(self) -> None:
        self._runs: dict[str, str | None] = {}

    def began(self, argv: Sequence[str], run_id: str | None) -> None:
        """A turn of this run began with this command line."""
        self._runs[prompt_of(argv)] = run_id

    def run_of(self, messages: Sequence[Any]) -> str | None:
        return self._runs.get(prompt_in(messages))


def prompt_in(messages: Sequence[Any]) -> str:
    """The newest text of the user in a request to the model."""
    said = [m.get("content") for m in messages if isinstance(m, Mapping) and m.get("role") == "user"]
    return said[-1] if said and isinstance(said[-1], str) else ""


def told_request(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the trace says of a request to the model: which tools, which prompt, how far the conversation is."""
    messages = data["messages"]
    return {"seq": data["seq"], "tools": data["tools"], "prompt": prompt_in(messages), "messages": len(messages)}
