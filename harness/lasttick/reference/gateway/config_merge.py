"""What must change in an operator's configuration, so that the agent finds our MCP server? As a pure function on text.

Ours are `mcp_servers.humanwork` with its command, args, env and two switches, and `mcp_discovery_timeout` if nobody
set one. What the operator put beside them, even inside our block, is not touched, and a text that already says so is
returned as it is. The result is read again before anybody writes it: if it says anything but "as before, and ours",
the merge is refused. Source: contract gateway "boot registration", rulings 7 and 10; GW-16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from lasttick.model import secret_fence
from lasttick.model.manifest import TOOLSET
from lasttick.reference.gateway.config_text import ConfigText, Entry, Layout, TextError

SERVERS = "mcp_servers"
DISCOVERY = "mcp_discovery_timeout"
DISCOVERY_S = 30
"""By default the agent waits 1.5 s, and a slower server silently has no tools."""
CHILD_VARIABLES = (
    secret_fence.ORG_ID,
    secret_fence.RUN_ID,
    secret_fence.MCP_TOOLS,
    secret_fence.PLATFORM_URL,
    secret_fence.AGENT_SECRET,
)
"""All that the agent hands to our server beside PATH and the like (ruling 7)."""
STEP = 2


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def server_entry(interpreter: str, args: Sequence[str]) -> dict[str, Any]:
    """What `mcp_servers.humanwork` must say. Values travel by name: the agent fills `${NAME}` from the environment of
    the turn, so no secret is ever written down, and a turn without tools has none to fill in."""
    return {
        "command": interpreter,
        "args": list(args),
        "env": {name: f"${{{name}}}" for name in CHILD_VARIABLES},
        "tools": {"resources": False, "prompts": False},
    }


def merged(text: str, ours: Mapping[str, Any]) -> str:
    """`text` with our entry in it; the same object when nothing is missing. Raises TextError when that cannot be done
    without changing anything else."""
    before = ConfigText(text)
    edits = _edits(before, ours)
    if not edits:
        return text
    result = _spliced(text, edits)
    try:
        after = ConfigText(result)
        settled = not _edits(after, ours)
    except TextError:
        settled = False
    if not settled or not same(after.data, _expected(before.data, ours)):
        raise TextError("cannot take our entry without a change to something else in it")
    return result


def same(left: Any, right: Any) -> bool:
    """Equal in value and type all the way down, whatever refers to what; NaN equals NaN."""
    waiting = [(left, right)]
    known: dict[tuple[int, int], tuple[Any, Any]] = {}
    while waiting:
        one, other = pair = waiting.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict | list | tuple):
            if (id(one), id(other)) in known:
                continue
            known[id(one), id(other)] = pair
            if len(one) != len(other):
                return False
            if isinstance(one, dict):
                if any(key not in other for key in one):
                    return False
                waiting += [(value, other[key]) for key, value in one.items()]
            else:
                waiting += zip(one, other, strict=True)
        elif one != other and (one == one or other == other):
            return False
    return True


def _expected(data: Any, ours: Mapping[str, Any]) -> dict[str, Any]:
    """What the result must say."""
    before = data or {}
    servers = before.get(SERVERS) or {}
    server = servers.get(TOOLSET) or {}
    tools = server.get("tools")
    new = {**server, **ours}
    if "tools" in ours and isinstance(tools, dict):
        new["tools"] = {**tools, **ours["tools"]}
    return {DISCOVERY: DISCOVERY_S, **before, SERVERS: {**servers, TOOLSET: new}}


def _spliced(text: str, edits: Sequence[Edit]) -> str:
    """Edits at one place stay in their order."""
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])


def _edits(config: ConfigText, ours: Mapping[str, Any]) -> list[Edit]:
    """Inner mappings first: what is put in at the end of one may stand at the end of the outer one as well."""
    root, data = config.root, config.data
    top: dict[str, Any] = {} if isinstance(data, dict) and DISCOVERY in data else {DISCOVERY: DISCOVERY_S}
    if data is None and (root is None or root.start_mark.index == root.end_mark.index):
        top = {SERVERS: {TOOLSET: dict(ours)}, **top}
        return [Edit(len(config.text), len(config.text), config.on_own_lines(len(config.text), _block(top, 0)))]
    if not isinstance(root, yaml.MappingNode):
        raise TextError(f"holds {_kind(data)} where settings by name belong")
    layout = config.layout(root)
    entry = layout.entries.get(SERVERS)
    if entry is None:
        return _added(config, layout, {SERVERS: {TOOLSET: dict(ours)}, **top})
    return [*_in_servers(config, layout, entry, data[SERVERS], ours), *_added(config, layout, top)]


def _in_servers(config: ConfigText, parent: Layout, entry: Entry, servers: Any, ours: Mapping[str, Any]) -> list[Edit]:
    if servers is None:
        return _filled(config, parent, entry, {TOOLSET: dict(ours)})
    layout = _mapping(config, SERVERS, entry, servers)
    ours_at = layout.entries.get(TOOLSET)
    if ours_at is None:
        return _added(config, layout, {TOOLSET: dict(ours)})
    server = servers[TOOLSET]
    if server is None:
        return _filled(config, layout, ours_at, dict(ours))
    return _in_server(config, _mapping(config, f"{SERVERS}.{TOOLSET}", ours_at, server), server, ours)


def _in_server(config: ConfigText, layout: Layout, server: Mapping[str, Any], ours: Mapping[str, Any]) -> list[Edit]:
    edits: list[Edit] = []
    missing: dict[str, Any] = {}
    for name, wanted in ours.items():
        have, entry = server.get(name), layout.entries.get(name)
        if name == "tools" and entry is not None and isinstance(have, dict):
            edits += _in_tools(config, entry, have, wanted)
        elif same(have, wanted):
            continue
        elif entry is None:
            missing[name] = wanted
        else:
            edits.append(_replaced(config, entry, wanted))
    return [*edits, *_added(config, layout, missing)]


def _in_tools(config: ConfigText, entry: Entry, tools: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Edit]:
    """Which tools an operator includes or excludes is the operator's; only the two switches are ours."""
    wrong = {name: value for name, value in wanted.items() if not same(tools.get(name), value)}
    if not wrong:
        return []
    layout = _mapping(config, f"{SERVERS}.{TOOLSET}.tools", entry, tools)
    there = [_replaced(config, layout.entries[name], wrong[name]) for name in wrong if name in layout.entries]
    return [*there, *_added(config, layout, {n: value for n, value in wrong.items() if n not in layout.entries})]


def _mapping(config: ConfigText, path: str, entry: Entry, data: Any) -> Layout:
    if not isinstance(data, dict):
        raise TextError(f"has {_kind(data)} at {path}")
    if entry.alias:
        raise TextError(f"has an alias at {path}, whose other end would change with it")
    return config.layout(entry.value)


def _added(config: ConfigText, layout: Layout, entries: Mapping[str, Any]) -> list[Edit]:
    """New entries at the end of a block mapping, or at the start of a flow mapping, where no comma can be missing."""
    if not entries:
        return []
    if layout.flow:
        text = _flow(dict(entries))[1:-1]
        return [Edit(layout.inside, layout.inside, text if layout.first is None else f"{text}, ")]
    assert layout.first is not None
    assert layout.last is not None
    if config.ends_in_open_scalar() and layout.last.end == len(config.text):
        at = layout.first.key_start - layout.first.key_column
    else:
        at = config.below(layout.last.end, layout.column)
    return [Edit(at, at, config.on_own_lines(at, _block(entries, layout.column)))]


def _filled(config: ConfigText, parent: Layout, entry: Entry, entries: Mapping[str, Any]) -> list[Edit]:
    """A value for a key that has none."""
    if parent.flow or not entry.bare:
        return [_replaced(config, entry, dict(entries))]
    at = config.below(entry.end, parent.column + 1)
    return [Edit(at, at, config.on_own_lines(at, _block(entries, parent.column + STEP)))]


def _replaced(config: ConfigText, entry: Entry, value: Any) -> Edit:
    swallowed_break = entry.end > entry.colon_end and config.text[: entry.end].endswith(("\n", "\r"))
    return Edit(entry.colon_end, entry.end, f" {_flow(value)}{config.newline if swallowed_break else ''}")


def _block(entries: Mapping[str, Any], column: int) -> list[str]:
    lines: list[str] = []
    for name, value in entries.items():
        if isinstance(value, dict):
            lines += [f"{' ' * column}{name}:", *_block(value, column + STEP)]
        else:
            lines.append(f"{' ' * column}{name}: {_flow(value)}")
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else quoted(value)


def quoted(text: str) -> str:
    """A double-quoted YAML scalar in printable ASCII, on one line, whatever the text is."""
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    return c if " " <= c <= "~" else f"\\U{ord(c):08x}"


def _kind(data: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", type(None): "nothing (null)", bool: "a truth value"}
    return names.get(type(data), "a single value")
