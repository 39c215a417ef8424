"""lasttick: conformance harness for the trust boundaries around agent tools.

Public names: `scenario` marks an async test as a scenario, `World` is what it is played in; `Host`, `Client`, `Device`,
`Answer`, `LogLine` are what a world gives; `Inconclusive`, `StartRefused` are raised. `law` marks a law over a
`Target`; in it `must` and `control` speak the verdict. All are loaded on first use, so that importing the package (and
the plugin of pytest) costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lasttick.laws.target import Target
    from lasttick.laws.verdict import control, must
    from lasttick.marks import law, scenario
    from lasttick.targets.answer import Answer
    from lasttick.targets.client import Client
    from lasttick.targets.device import Device
    from lasttick.targets.host import Host
    from lasttick.targets.listen import LogLine
    from lasttick.targets.outcome import Inconclusive, StartRefused
    from lasttick.targets.world import World

__all__ = [
    "Answer",
    "Client",
    "Device",
    "Host",
    "Inconclusive",
    "LogLine",
    "StartRefused",
    "Target",
    "World",
    "control",
    "law",
    "must",
    "scenario",
]
__version__ = "0.1.0"

_HOMES = {
    "Answer": "lasttick.targets.answer",
    "Client": "lasttick.targets.client",
    "Device": "lasttick.targets.device",
    "Host": "lasttick.targets.host",
    "Inconclusive": "lasttick.targets.outcome",
    "LogLine": "lasttick.targets.listen",
    "StartRefused": "lasttick.targets.outcome",
    "Target": "lasttick.laws.target",
    "World": "lasttick.targets.world",
    "control": "lasttick.laws.verdict",
    "law": "lasttick.marks",
    "must": "lasttick.laws.verdict",
    "scenario": "lasttick.marks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lasttick' has no attribute {name!r}; it has {', '.join(__all__)}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
