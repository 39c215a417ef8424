"""Decision D6: the table of display states, row by row (HA-11)."""

from __future__ import annotations

import pytest

from lasttick.model.lease import Holder
from lasttick.model.status import DisplayStatus, display_status

CLOUD, MCP = Holder("cloud", "asg-1"), Holder("mcp", "s" * 32)


@pytest.mark.parametrize(
    ("health", "owner", "quarantined", "shown"),
    [
        ("ok", None, False, DisplayStatus("idle")),
        ("ok", CLOUD, False, DisplayStatus("busy", "cloud")),
        ("ok", MCP, False, DisplayStatus("busy", "mcp")),
        ("error", None, False, DisplayStatus("error")),
        ("error", CLOUD, False, DisplayStatus("error")),
        ("ok", MCP, True, DisplayStatus("error")),
        ("ok", None, True, DisplayStatus("error")),
        ("offline", None, False, DisplayStatus("offline")),
        ("offline", MCP, True, DisplayStatus("offline")),
        ("offline", CLOUD, False, DisplayStatus("offline")),
        ("something new", None, False, DisplayStatus("error")),
    ],
)
def test_the_first_row_that_applies(health: str, owner: Holder | None, quarantined: bool, shown: DisplayStatus) -> None:
    assert display_status(health, owner, quarantined) == shown
