"""What does the agent tell of itself? Its capabilities, modes and models, and its answers to slash commands.

Source: contract hermes, sections 4.1 to 4.3, and recorded frames. The answers to /help and /version are recorded, the
others read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lasttick_fakes.hermes.acp.frames import Frame

PROVIDER = "custom"
DEFAULT_MODE = "default"
MODES: Mapping[str, tuple[str, str]] = {
    DEFAULT_MODE: ("Default", "Ask before edits."),
    "accept_edits": ("Accept Edits", "Auto-allow workspace and /tmp edits; still asks for sensitive paths."),
    "dont_ask": ("Don't Ask", "Auto-allow file edits for this session except sensitive paths."),
}
COMMANDS: Mapping[str, tuple[str, str, str | None]] = {
    "help": ("List available commands", "Show available commands", None),
    "model": (
        "Show current model and provider, or switch models",
        "Show or change current model",
        "model name to switch to",
    ),
    "tools": ("List available tools with descriptions", "List available tools", None),
    "context": ("Show conversation message counts by role", "Show conversation context info", None),
    "reset": ("Clear conversation history", "Clear conversation history", None),
    "compact": ("Compress conversation context", "Compress conversation context", None),
    "steer": ("Inject guidance into the currently running agent turn",) * 2 + ("guidance for the active turn",),
    "queue": ("Queue a prompt to run after the current turn finishes",) * 2 + ("prompt to run next",),
    "version": ("Show Hermes version", "Show Hermes version", None),
}
"""Name -> what the client is told, what /help says, the hint for its input."""
QUEUED = "Queued for the next turn. ({} queued)"
RESET = "Conversation history cleared."
NOTHING_TO_COMPACT = "Nothing to compress — conversation is empty."
NOT_COMPACTED = "Context compression is disabled for this agent."


def initialized(version: str) -> Frame:
    """The answer to `initialize`."""
    return {
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True},
            "sessionCapabilities": {"fork": {}, "list": {}, "resume": {}},
        },
        "agentInfo": {"name": "hermes-agent", "version": version},
        "authMethods": [
            {
                "description": f"Authenticate Hermes using the currently configured {PROVIDER} runtime credentials.",
                "id": PROVIDER,
                "name": f"{PROVIDER} runtime credentials",
            },
            {
                "args": ["--setup"],
                "description": "Open Hermes' interactive model/provider setup in a terminal. Use this when Hermes has "
                "not been configured on this machine yet.",
                "id": "hermes-setup",
                "name": "Configure Hermes provider",
                "type": "terminal",
            },
        ],
        "protocolVersion": 1,
    }


def surface(model: str, mode: str) -> Frame:
    """`models` and `modes` of a session."""
    current = f"{PROVIDER}:{model}"
    return {
        "models": {
            "availableModels": [
                {"description": "Provider: Custom endpoint • current", "modelId": current, "name": model}
            ],
            "currentModelId": current,
        },
        "modes": {
            "availableModes": [
                {"description": description, "id": mode_id, "name": name}
                for mode_id, (name, description) in MODES.items()
            ],
            "currentModeId": mode,
        },
    }


def provenance(session_id: str) -> Frame:
    """The `_meta` of a session that was never split."""
    ids = dict.fromkeys(("acpSessionId", "currentHermesSessionId", "rootHermesSessionId"), session_id)
    rest = {"parentHermesSessionId": None, "sessionKind": "root", "compressionDepth": 0}
    return {"hermes": {"sessionProvenance": {**ids, **rest}}}


def available_commands() -> list[Frame]:
    return [
        {"description": told, **({} if hint is None else {"input": {"hint": hint}}), "name": name}
        for name, (told, _, hint) in COMMANDS.items()
    ]


def help_text() -> str:
    lines = [f"  /{name:10s}  {said}" for name, (_, said, _) in COMMANDS.items()]
    closing = "Unrecognized /commands are sent to the model as normal messages."
    return "\n".join(["Available commands:", "", *lines, "", closing])


def tools_text(functions: Sequence[Mapping[str, Any]]) -> str:
    if not functions:
        return "No tools available."
    lines = [f"  {one['function']['name']}: {_short(one['function']['description'])}" for one in functions]
    return "\n".join([f"Available tools ({len(functions)}):", *lines])


def context_text(history: Sequence[Mapping[str, Any]], model: str) -> str:
    roles = [message.get("role") for message in history]
    counts = ", ".join(f"{role}: {roles.count(role)}" for role in ("user", "assistant", "tool", "system"))
    head = f"Conversation: {len(roles)} messages" if roles else "Conversation is empty (no messages yet)."
    return f"{head}\n  {counts}\nModel: {model}\nProvider: {PROVIDER}"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
