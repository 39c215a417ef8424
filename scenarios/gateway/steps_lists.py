"""What scenarios about lists of tools have in common: generated registries, and the list that a run was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from lasttick import World

ORG = "org-a"
OTHER = "org-b"
SKILL = "matched"

Tools: TypeAlias = Mapping[str, Sequence[tuple[str, str | None]]]
"""Slug -> its actions, each with its access class; None: the registry's entry has none."""

NAMES = st.text("abcYZ059", min_size=1, max_size=4)
"""Without `_`, so that no two pairs fold to one name; digits sort before `:` and letters after it."""

ACTIONS = st.lists(
    st.tuples(NAMES, st.sampled_from(["read", "read", "write", None])),
    max_size=4,
    unique_by=lambda action: action[0],
)
TOOLS = st.dictionaries(NAMES, ACTIONS, min_size=1, max_size=4)


def registry_of(tools: Tools) -> dict[str, Any]:
    """The registry's data."""
    return {slug: {"kind": "http", "actions": [_action(*action) for action in tools[slug]]} for slug in tools}


def _action(name: str, access: str | None) -> dict[str, Any]:
    return {"name": name} if access is None else {"name": name, "accessClass": access}


def read_pairs(tools: Tools, slugs: Iterable[str]) -> list[str]:
    """What the contract says a list holds. Written here, so that a wrong model cannot agree with itself."""
    known = dict.fromkeys(slug for slug in slugs if slug in tools)
    return sorted(f"{slug}:{name}" for slug in known for name, access in tools[slug] if access == "read")


async def held_gateway(world: World, **options: Any) -> Any:
    """A gateway whose agent holds turns open: a turn costs next to nothing, and its wire tells the list."""
    return await world.gateway(agent="held", flag=True, **options)


async def listed(gateway: Any, org_id: str = ORG, *, skill: str | None = SKILL, **options: Any) -> list[str]:
    """The list of one new run, which is over then. Wire and manifest say the same, and nothing where it is empty."""
    run = await gateway.open_run(org_id, skill=skill, **options)
    stored = await gateway.run(run.id)
    await run.end()
    tools = list(run.wire.get("mcp_tools", []))
    metadata = {"inboundMessageRole": "user", "channel": options.get("channel", "chat")}
    if tools:
        assert run.wire["toolsets"] == ["humanwork"]
        metadata["runtimeManifest"] = {"allowedTools": tools}
    else:
        assert "mcp_tools" not in run.wire, run.wire
        assert "toolsets" not in run.wire, run.wire
    assert stored["metadata"] == metadata
    return tools
