"""What does the program print besides the answer? All of it goes before the answer, which is the last line.

Measured on both versions, with the mark of a box reduced to its first and last lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from lasttick_fakes.hermes.servers import ConfiguredServer

_BOX = "\r\n┌─ Reasoning " + "─" * 66 + "┐\r\n"
PARTIAL_MAX = 80
NO_REPLY = (
    "⚠️ No reply: the model returned empty content after retries and any fallback providers. Try `continue`, switch "
    "model/provider, or inspect the tool output above.\n"
)
NOT_A_TERMINAL = "Warning: Input is not a terminal (fd=0).\n"
SETUP = """
It looks like Hermes isn't configured yet -- no API keys or providers found.

  Run:  hermes setup

  Run 'hermes setup' in an interactive terminal to use the full wizard.

"""


def reasoning(text: str) -> str:
    """The box of 0.19.0 around what the model thought. It never closes, and is told everything twice; what is no whole
    line yet waits for the next one, unless it is long."""
    shown, waiting = _BOX, ""
    for told in (text, text):
        *lines, waiting = (waiting + told).split("\n")
        if len(waiting) > PARTIAL_MAX:
            lines, waiting = [*lines, waiting], ""
        shown += "".join(f"{line}\r\n" for line in lines)
    return shown


def broken_config(problem: str) -> str:
    """On standard error: the file is not used at all."""
    return (
        f"⚠️  hermes config: Failed to parse {problem}. Falling back to default config — every user override "
        "(auxiliary providers, fallback chain, model settings) is being IGNORED. Fix the YAML and restart.\n"
    )


def interactive(version: str, servers: Sequence[ConfiguredServer], session_id: str) -> str:
    """The screen without a terminal: a banner, and it leaves without a turn."""
    found = "".join(f"│  {server.server.name} (stdio) — {len(server.tools)} tool(s)\n" for server in servers)
    return (
        f"╭─ Hermes Agent v{version} ─╮\n{found}│  Session: {session_id}\n╰─╯\n\n"
        "Welcome to Hermes Agent! Type your message or /help for commands.\n\n"
        "Shutting down… (finalizing session)\n\nGoodbye! ⚕\n"
    )
