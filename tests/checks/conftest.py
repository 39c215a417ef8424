"""A trace written by hand, one short line per fact, so that a test reads as the story it judges."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.engine.trace import Event, Trace

TTL_S = 60.0


class Story:
    """Each method appends facts; times are seconds since the start of the example."""

    def __init__(self, *, ttl_s: float | None = TTL_S) -> None:
        self.trace = Trace()
        self.count = 0
        if ttl_s is not None:
            self.start(0.0, ttl_s=ttl_s)

    @property
    def events(self) -> list[Event]:
        return self.trace.events

    def add(self, t_s: float, actor: str, kind: str, ref: str | None = None, **data: Any) -> Event:
        return self.trace.emit(actor, kind, ref, t_ns=round(t_s * 1e9), **data)

    def start(self, t_s: float, host: str = "host", *, ttl_s: float = TTL_S) -> Story:
        self.add(t_s, host, "part.start", ttl_s=ttl_s)
        return self

    def stop(self, t_s: float, host: str = "host", kind: str = "part.stop") -> Story:
        self.add(t_s, host, kind)
        return self

    def kill(self, t_s: float, host: str = "host") -> Story:
        return self.stop(t_s, host, "part.kill")

    def example(self) -> Story:
        self.add(0.0, "run", "example")
        return self

    def open(self, t_s: float, client: str, session: str | None, **data: Any) -> Story:
        self.add(t_s, client, "session.open", session=session, **data)
        return self

    def end(self, t_s: float, client: str, session: str | None) -> Story:
        self.add(t_s, client, "session.end", session=session)
        return self

    def drive(
        self, caller: str | None, start_s: float, end_s: float | None, device: str = "phone-1", call: str | None = None
    ) -> Story:
        """One driver call as the device logs it. The end is written at once, as history of another process is."""
        self.count += 1
        ref = f"d{self.count}"
        data = {"tool": "tap", "arguments": {}, "caller": caller, "call": call}
        self.add(start_s, device, "driver.start", ref, **data)
        if end_s is not None:
            self.add(end_s, device, "driver.end", ref, **data)
        return self

    def refused(self, client: str, start_s: float, end_s: float, device: str = "phone-1") -> Story:
        self.count += 1
        ref = f"c{self.count}"
        self.add(start_s, client, "call.start", ref, tool="tap", device_id=device)
        self.add(
            end_s, client, "call.end", ref, tool="tap", device_id=device, ok=False, code=-32000, reason="device_busy"
        )
        return self


@pytest.fixture
def story() -> Story:
    """A story whose host starts at 0 with a TTL of 60 s."""
    return Story()


@pytest.fixture(scope="session")
def new_story() -> type[Story]:
    return Story
