"""Stories for the report: what clients asked and what devices did, with one line per call."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.engine.trace import Event, Trace


class Calls:
    """A host with a TTL of 60 s; each `call` of a client reaches the device unless it is refused."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.count = 0
        self.add(0, "host", "part.start", ttl_s=60.0)

    @property
    def events(self) -> list[Event]:
        return self.trace.events

    def add(self, t_s: float, actor: str, kind: str, ref: str | None = None, **data: Any) -> Calls:
        self.trace.emit(actor, kind, ref, t_ns=round(t_s * 1e9), **data)
        return self

    def call(
        self,
        client: str,
        start_s: float,
        end_s: float | None,
        *,
        device: str = "phone-1",
        tool: str = "tap",
        refused: str | None = None,
    ) -> Calls:
        self.count += 1
        ref, data = f"c{self.count}", {"tool": tool, "device_id": device}
        self.add(start_s, client, "call.start", ref, **data)
        if not refused:
            self.add(start_s, device, "driver.start", f"d{self.count}", tool=tool, caller=client)
        if end_s is not None:
            self.add(end_s, client, "call.end", ref, **data, ok=not refused, reason=refused)
            if not refused:
                self.add(end_s, device, "driver.end", f"d{self.count}", tool=tool, caller=client)
        return self


@pytest.fixture
def calls() -> Calls:
    return Calls()
