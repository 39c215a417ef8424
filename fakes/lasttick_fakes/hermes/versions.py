"""In what do the two versions of the agent differ, and how do they name a server's tools?

Source: contract hermes, sections 3.3 and 7; measured on the programs 0.17.0 and 0.19.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Version: TypeAlias = Literal["0.17.0", "0.19.0"]
DEFAULT_VERSION: Version = "0.19.0"


@dataclass(frozen=True, slots=True)
class Habits:
    """What one version does, and the other does not."""

    joint: str
    """Stands between `mcp`, server and tool in a tool's name."""
    shows_reasoning: bool
    """What the model thought is printed before the answer, unless the configuration says otherwise."""
    env_prefix: bool
    """`${env:NAME}` is filled as well as `${NAME}`."""
    follows_pages: bool
    """tools/list is asked again for a next page."""
    probes_pages: bool
    """A page where an MCP endpoint should be gets a second look."""
    prints_refusals: bool
    """What a model server says when it refuses a request goes to standard output, as if it were the answer."""
    skips_beside_made_up: bool
    """A made-up tool name in a message keeps the other calls of that message from being made."""
    reads_resources: bool
    """Text of a resource inside a result is read too, not of text blocks alone."""
    guards_envelope: bool
    """A result that holds the envelope's own end is changed so that it does not."""
    repeats_lost_calls: bool
    """A call that met a forgotten session is made again in a new one."""
    ends_lost_sessions: bool
    """A DELETE is sent for a session that the server has forgotten, too."""
    approvals_mode: str
    """Who judges a dangerous command when the configuration does not say: `manual`, `smart` or `off`."""
    asks_before_v4a: bool
    """A patch in V4A form needs a person's yes over ACP like every other edit."""
    asks_after_smart_deny: bool
    """A command that the helper model denied is put to a person, who may allow it once."""
    remembers_smart_approvals: bool
    """What the helper model approved is not judged again in that session, nor anything of its class (read)."""
    repeats_reasoning: bool
    """What the model thought goes back to it with the conversation."""
    keeps_interrupted_text: bool
    """What the model had said when it was interrupted stays in the conversation, and gives it a title."""

    def tool_name(self, server: str, tool: str) -> str:
        """What the model calls it. Not injective: see `folded`."""
        return self.joint.join(("mcp", folded(server), folded(tool)))


HABITS: dict[str, Habits] = {
    "0.17.0": Habits(
        joint="_",
        shows_reasoning=False,
        env_prefix=False,
        follows_pages=False,
        probes_pages=False,
        prints_refusals=False,
        skips_beside_made_up=True,
        reads_resources=False,
        guards_envelope=False,
        repeats_lost_calls=False,
        ends_lost_sessions=False,
        approvals_mode="manual",
        asks_before_v4a=False,
        asks_after_smart_deny=False,
        remembers_smart_approvals=True,
        repeats_reasoning=True,
        keeps_interrupted_text=False,
    ),
    "0.19.0": Habits(
        joint="__",
        shows_reasoning=True,
        env_prefix=True,
        follows_pages=True,
        probes_pages=True,
        prints_refusals=True,
        skips_beside_made_up=False,
        reads_resources=True,
        guards_envelope=True,
        repeats_lost_calls=True,
        ends_lost_sessions=True,
        approvals_mode="smart",
        asks_before_v4a=True,
        asks_after_smart_deny=True,
        remembers_smart_approvals=False,
        repeats_reasoning=False,
        keeps_interrupted_text=True,
    ),
}


def folded(name: str) -> str:
    """Every character outside `[A-Za-z0-9_]` becomes `_`."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def habits_of(version: str) -> Habits:
    """Raises ValueError for a version that was not measured."""
    if version not in HABITS:
        raise ValueError(f"version {version!r}; expected one that was measured: {', '.join(HABITS)}; use one of these")
    return HABITS[version]
