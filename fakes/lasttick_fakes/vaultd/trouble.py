"""What goes wrong between a vault and its caller? Trouble as data: which calls, and what their caller sees.

| kind | the caller sees | the vault does |
|---|---|---|
| slow | the answer `s` seconds late | it, at the end of that time, whether or not the caller still waits |
| hang | nothing, until it leaves | nothing |
| down | a connection that breaks inside the answer | nothing |
| half | the answer's first half, then a broken connection | it |
| duplicate | the answer | it, and then the same bytes again: two entries in its log |
| 5xx | `status` (500 to 599) with a page of HTML | nothing |
| garbage | 200 and the body `garbage(shape)` | nothing |
| answer | `status` with `body` (any JSON), or with `raw` as it is | nothing |
| echo | `status` with a body that shows the caller's own token, in five writings | nothing |

`heal` ends them all. A vault that nobody can connect to is trouble of its place in the world, not of this fake.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import quote

from lasttick_fakes.http_json import Refused, shown
from lasttick_fakes.thirdparty.trouble import HEAL, SHAPES
from lasttick_fakes.vaultd import scripted
from lasttick_fakes.vaultd.connectors import seconds

Kind = Literal["slow", "hang", "down", "half", "duplicate", "5xx", "garbage", "answer", "echo"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Which calls meet it: `scripted.py`. `body` is JSON-able; `raw`, if any, wins over it. Raises Refused."""

    kind: Kind
    s: float = 0.0
    status: int | None = None
    shape: str = "html"
    body: Any = None
    raw: str | None = None
    method: str | None = None
    path: str | None = None
    count: int | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Refused(400, f"unknown trouble {shown(self.kind)}; known are {', '.join(KINDS)}, {HEAL}; use one")
        seconds(self.s, "s")
        low, high = (500, 599) if self.kind == "5xx" else (200, 599)
        if self.status is not None and (type(self.status) is not int or not low <= self.status <= high):
            raise Refused(400, f"status is {shown(self.status)}; expected {low} to {high}; correct it")
        if self.shape not in SHAPES:
            raise Refused(400, f"shape is {shown(self.shape)}; known are {', '.join(SHAPES)}; use one")
        if self.raw is not None and not isinstance(self.raw, str):
            raise Refused(400, f"raw is {shown(self.raw)}; expected text, or none; correct it")
        scripted.check(self)


def parse(body: Mapping[str, Any]) -> Trouble:
    """A trouble from decoded JSON. Raises Refused (400)."""
    return scripted.parse(Trouble, KINDS, body)


def echo(authorization: str) -> dict[str, Any]:
    """What a careless vault says: the caller's token, in the code, the message, the details and everywhere else."""
    token = authorization.partition(" ")[2]
    writings = {
        "header": authorization,
        "url": quote(token, safe=""),
        "base64": base64.b64encode(token.encode()).decode(),
        "pieces": [token[at : at + 8] for at in range(0, len(token), 8)],
        token: token,
    }
    error = {"code": f"BAD_{token}", "message": f"bad header Authorization: {authorization}", "details": writings}
    return {"error": error, "echo": writings, "job": {"job_id": token, "status": token, "error": {"code": token}}}
