"""What is played on both sides? Scripts of steps, as data: calls of tools, and what is done to the fakes around.

Before every script the vault daemon and the remote catalogs are as they were at their start, and the script's scope has
a session. Ids of the fakes are counted, so a script may name `job_1` before it exists. Source: VC-21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

TOKEN = "vc-agent"
"""The daemon's own agent of tenant acme: on both sides the same, so that what either does with it can be compared."""
VAULTD, CATALOG_1, CATALOG_2 = "{vaultd}", "{catalog-1}", "{catalog-2}"
"""In any text of a step: the origin of that fake, on the side that plays."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is started; scripts that start alike share one, each with a scope of its own.

    `own` makes it the script's alone, on a fresh catalog. `cookbooks` False: no folder of cookbooks is named.
    """

    via: Literal["http", "stdio"] = "http"
    environ: tuple[tuple[str, str], ...] = ()
    cookbooks: bool = True
    own: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One tools/call; `tool` without its prefix. `scope`: another than the script's."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON-RPC message as it is; one without `id` is a notification."""

    message: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes: over HTTP the body of a request, on standard streams a line (`body`, and a newline)."""

    body: bytes
    method: str = "POST"
    path: str = "/mcp"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Vault:
    """What the tests' side of the daemon is told: `METHOD path body`."""

    method: str
    path: str
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remote:
    """What the tests' side of a remote catalog is told; `catalog` counts from 1."""

    catalog: int
    method: str
    path: str
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """A file of the catalog is written behind the server's back."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Restart:
    """The server ends and starts again on the same catalog."""


@dataclass(frozen=True, slots=True)
class CallThenEnd:
    """On standard streams: a call, and the end of the input right behind it. What comes out until the server's end."""

    call: Call


Step: TypeAlias = Call | Message | Raw | Vault | Remote | Written | Restart | CallThenEnd


@dataclass(frozen=True, slots=True)
class Script:
    """`name` reads as a path. `session` False: nothing is configured before the first step."""

    name: str
    steps: tuple[Step, ...]
    start: Start = field(default_factory=Start)
    session: bool = True

    def scenes(self) -> list[Scene]:
        """What of it is observed, in order: the start of its own server, and every step that does not only prepare."""
        starts = [-1] if self.start.own else []
        seen = [at for at, step in enumerate(self.steps) if not isinstance(step, Vault | Remote | Written)]
        return [Scene(self, at) for at in (*starts, *seen)]


@dataclass(frozen=True, slots=True)
class Scene:
    """One observed step with what came before it in its script: what a ruling's predicate looks at."""

    script: Script
    at: int
    """Index of the step; -1: the start of the script's server."""

    @property
    def step(self) -> Step | Start:
        return self.script.start if self.at < 0 else self.script.steps[self.at]

    @property
    def before(self) -> tuple[Step, ...]:
        return self.script.steps[: max(self.at, 0)]

    @property
    def call(self) -> Call:
        """The tool's call of this step; one of no tool when it is none."""
        step = self.step.call if isinstance(self.step, CallThenEnd) else self.step
        return step if isinstance(step, Call) else Call("")

    @property
    def name(self) -> str:
        what = "start" if self.at < 0 else self.call.tool or type(self.step).__name__.lower()
        return f"{self.script.name}#{self.at + 1} {what}"

    def told(self, path: str) -> list[Mapping[str, Any]]:
        """What the daemon was told at this path of its tests' side so far."""
        return [step.body for step in self.before if isinstance(step, Vault) and step.path == path]

    def answers(self, path: str) -> list[Mapping[str, Any]]:
        """The scripted answers for this path of the vault."""
        return [body for body in self.told("/control/answers") if str(body.get("path", "")).startswith(path)]

    def troubles(self) -> list[Mapping[str, Any]]:
        return self.told("/trouble")


def answer(path: str, body: Any = None, *, status: int = 200, times: int = 1, skip: int = 0) -> Vault:
    """The daemon's next answers for this path are scripted."""
    return Vault(
        "POST", "/control/answers", {"path": path, "status": status, "body": body, "times": times, "skip": skip}
    )


def work(kind: Literal["jobs", "runs"], *states: tuple[float, str]) -> Vault:
    """A job or a run of which the states are told: (seconds after now, status)."""
    told = [{"at_s": at_s, "status": status} for at_s, status in states]
    return Vault("POST", f"/control/{kind}", {"tenant": "acme", "states": told})
