"""How are the laws bound to a dummy? One profile that reaches it over HTTP, and one that uses MCP tools for the same.

Credentials of the callers are environment variables, as a user's would be, so that they are secrets to the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from lasttick.laws.profiles.profile import READING

Speaks: TypeAlias = Literal["tool", "http"]

ENVIRON = {
    "LASTTICK_DUMMY_ALICE": "lt-secret-of-alice-5d1c",
    "LASTTICK_DUMMY_BOB": "lt-secret-of-bob-77e0",
    "LASTTICK_DUMMY_CAROL": "lt-secret-of-carol-e3a9",
    "LASTTICK_DUMMY_BOSS": "lt-secret-of-boss-0b42",
    "LASTTICK_DUMMY_SOURCE": "lt-secret-of-source-91c6",
}
"""Values for the variables of the profile. A dummy looks at none of them."""

_HEAD = """\
version = 1
effects = {{ http = "GET /effects", each = "/body/effects", out = {{ mark = "/mark", at = "/at", end = "/end", \
resource = "/resource", tool = "/tool", args = "/args" }} }}
log = {{ http = "GET /log" }}

[target]
url = "{url}/mcp"

[outcomes]
denied = [{{ "/error/data/reason" = "denied" }}]

[callers.alice]
id = "alice"
tenant = "red"
headers = {{ Authorization = "Bearer ${{LASTTICK_DUMMY_ALICE}}", X-Caller = "alice" }}
may = ["ltread", "ltwrite"]

[callers.bob]
id = "bob"
tenant = "blue"
headers = {{ Authorization = "Bearer ${{LASTTICK_DUMMY_BOB}}", X-Caller = "bob" }}
may = ["ltread"]

[callers.carol]
id = "carol"
tenant = "red"
headers = {{ Authorization = "Bearer ${{LASTTICK_DUMMY_CAROL}}", X-Caller = "carol" }}
may = ["ltread"]

[callers.boss]
id = "boss"
tenant = "red"
headers = {{ Authorization = "Bearer ${{LASTTICK_DUMMY_BOSS}}", X-Caller = "boss" }}
decides = true
"""
_POLICY = {
    "lease": 'ttl_s = 2\nrenewed_by = ["use", "renew"]\nresources = ["r1"]',
    "approval": "timeout_s = 2",
    "source": 'credential = "${LASTTICK_DUMMY_SOURCE}"\nindex = { next = "{url}" }',
}
_INPUTS = {
    "session.open": (),
    "session.end": ("session",),
    "tools.list": (),
    "tools.call": ("tool", "mark"),
    "lease.acquire": ("resource", "ttl_s"),
    "lease.use": ("resource", "mark", "hold_s"),
    "lease.renew": ("resource",),
    "lease.release": ("resource",),
    "lease.holder": (),
    "approval.request": ("mark", "timeout_s"),
    "approval.pending": (),
    "approval.decide": ("id", "decision"),
    "approval.resume": ("id", "mark"),
    "approval.outcome": ("id",),
    "source.add": ("source", "url"),
    "source.read": ("source",),
    "source.follow": ("source",),
    "source.remove": ("source",),
}
_REST = {
    "session.open": 'out = { session = "/body/session" }',
    "tools.list": 'each = "/body/tools"\nout = { name = "/name" }',
    "lease.acquire": 'out = { resource = "/body/resource" }',
    "lease.holder": 'each = "/body/leases"\nout = { resource = "/resource", held = "/held", by = "/by" }\n'
    "states = { held = [true], free = [false] }",
    "approval.request": 'out = { id = "/body/id" }',
    "approval.pending": 'each = "/body/approvals"\nout = { id = "/id", text = "/text", expires = "/expires" }',
    "approval.decide": 'say = { approve = "approve", deny = "deny" }',
    "approval.outcome": 'out = { state = "/body/state", by = "/body/by" }\n'
    'states = { approved = ["approved"], denied = ["denied"], expired = ["expired"], pending = ["pending"] }',
}
_OF_MCP_ITSELF = ("session.open", "session.end", "tools.list")
_IN_A_SESSION = ("tools.call", "lease.acquire", "lease.use", "lease.renew", "lease.release")


def dummy_profile(url: str, speaks: Speaks = "tool") -> str:
    """TOML that binds every verb of a dummy at the origin `url`. Needs the variables of `ENVIRON`.

    "tool": calls are MCP tools, session and list are the protocol's own. "http": everything is HTTP, and a session is a
    word in the header X-Session.
    """
    parts = [_HEAD.format(url=url)]
    for section in ("session", "tools", "lease", "approval", "source"):
        if section in _POLICY:
            parts.append(f"[{section}]\n{_POLICY[section]}\n")
        for verb, inputs in _INPUTS.items():
            if verb.startswith(f"{section}.") and not (speaks == "tool" and verb in _OF_MCP_ITSELF):
                parts.append(_binding(verb, inputs, speaks))
    parts.append(_without("clock", "advance", "step") + _without("system", "restart"))
    return "\n".join(parts)


def _binding(verb: str, inputs: tuple[str, ...], speaks: Speaks) -> str:
    lines = [f"[{verb}]"]
    if speaks == "tool":
        lines.append('tool = "{tool}"' if verb == "tools.call" else f'tool = "{verb}"')
        lines.append(f"args = {_table(name for name in inputs if name != 'tool')}")
    else:
        lines.append(f'http = "{"GET" if verb in READING else "POST"} /{verb}"')
        lines.append(f"{'query' if verb in READING else 'json'} = {_table(inputs)}")
        if verb in _IN_A_SESSION:
            lines.append('headers = { X-Session = "{session}" }')
    if verb in _REST:
        lines.append(_REST[verb])
    return "\n".join(lines) + "\n"


def _table(names: Iterable[str]) -> str:
    inner = ", ".join(f'{name} = "{{{name}}}"' for name in names)
    return f"{{ {inner} }}" if inner else "{}"


def _without(section: str, *verbs: str) -> str:
    lines = [f'{verb} = {{ absent = "a dummy has none" }}' for verb in verbs]
    return "\n".join([f"[{section}]", *lines]) + "\n"
