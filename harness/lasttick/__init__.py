"""lasttick: conformance harness for the trust boundaries around agent tools.

Public names: `scenario` marks an async test as a scenario, `World` is what it is played in, `Answer` is what a call
gave. They are loaded on first use, so that importing the package (and pytest's plugin) costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lasttick.marks import scenario
    from lasttick.targets.answer import Answer
    from lasttick.targets.world import World

__all__ = ["Answer", "World", "scenario"]
__version__ = "0.1.0"

_HOMES = {"scenario": "lasttick.marks", "Answer": "lasttick.targets.answer", "World": "lasttick.targets.world"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lasttick' has no attribute {name!r}; it has {', '.join(__all__)}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
