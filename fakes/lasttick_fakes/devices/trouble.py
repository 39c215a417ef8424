"""What can go wrong with a fake device, as data?

A `Trouble` is given to a device at once or, with `on_call=n`, when its n-th call starts (calls count from 1;
`FakeDevice.calls` says how many there were). Kinds:

- `slow`: later calls of `tool` ("*": all) take `s` seconds more, until another `slow` or `heal`; queued: that call
  alone.
- `hang`: nothing finishes, neither running nor new calls, until `heal`; then they finish as usual. Health stays "ok":
  a phone that hangs does not say so.
- `disconnect`: running calls fail without effect, new ones at once; health "offline" until `heal`; the state stays.
- `crash`: the same with health "error", and the state is that of a phone just switched on.
- `heal`: the end of every trouble, also of the queued ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from lasttick_fakes.devices.arguments import TOOLS, short

TroubleKind = Literal["slow", "hang", "disconnect", "crash", "heal"]
KINDS: tuple[str, ...] = get_args(TroubleKind)
ANY_TOOL = "*"
SLOW_S_MAX = 30 * 86_400.0


class BadTrouble(ValueError):
    """The trouble cannot be read, or can no longer happen. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One planned misfortune. `tool` and `s` (seconds) belong to `slow`. Raises BadTrouble."""

    kind: TroubleKind
    tool: str = ANY_TOOL
    s: float = 0.0
    on_call: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadTrouble(f"unknown trouble kind {short(self.kind)}; known are {', '.join(KINDS)}; use one of these")
        if self.tool != ANY_TOOL and self.tool not in TOOLS:
            raise BadTrouble(f"trouble for the tool {short(self.tool)}; a device has *, {', '.join(TOOLS)}; use one")
        if isinstance(self.s, bool) or not isinstance(self.s, (int, float)) or not 0 <= self.s <= SLOW_S_MAX:
            raise BadTrouble(
                f"trouble with s = {short(self.s)}; expected seconds from 0 to {SLOW_S_MAX:.0f}; correct it"
            )
        if self.kind != "slow" and (self.tool, self.s) != (ANY_TOOL, 0.0):
            raise BadTrouble(f"{self.kind} with a tool or seconds; only slow takes them; leave them out")
        if self.on_call is not None and (type(self.on_call) is not int or self.on_call < 1):
            raise BadTrouble(f"on_call = {short(self.on_call)}; calls of a device count from 1; give such a number")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def parse(body: object) -> Trouble:
    """A trouble from decoded JSON, `{"kind", "tool"?, "s"?, "on_call"?}`. Raises BadTrouble."""
    known = ("kind", "tool", "s", "on_call")
    if not isinstance(body, Mapping) or "kind" not in body or any(key not in known for key in body):
        raise BadTrouble(
            f"{short(body)} is no trouble; expected an object with kind and, if need be, tool, s, on_call; correct it"
        )
    return Trouble(**body)


def slow(tool: str, s: float, on_call: int | None = None) -> Trouble:
    return Trouble("slow", tool, s, on_call)


def hang(on_call: int | None = None) -> Trouble:
    return Trouble("hang", on_call=on_call)


def disconnect(on_call: int | None = None) -> Trouble:
    return Trouble("disconnect", on_call=on_call)


def crash(on_call: int | None = None) -> Trouble:
    return Trouble("crash", on_call=on_call)


def heal() -> Trouble:
    return Trouble("heal")
