"""A device of a world's rack: its own log, and its trouble. Same code in every mode: the rack is asked over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lasttick.targets.world import LogEntry, World


class Device:
    """`url` is the rack's address. Trouble is data that the device keeps; each control is one request to the rack."""

    def __init__(self, world: World, device_id: str, rack_url: str) -> None:
        self.device_id = device_id
        self._world = world
        self._rack_url = rack_url

    # -- what the device itself wrote

    @property
    def log(self) -> list[LogEntry]:
        """Start and end of every driver call on this device, as the device wrote them."""
        return [entry for entry in self._world.rack_log() if entry.device_id == self.device_id]

    @property
    def callers(self) -> list[str | None]:
        """Who caused each driver call, in the order the calls started."""
        return [entry.caller for entry in self.log if entry.kind == "start"]

    @property
    def calls(self) -> int:
        """How many driver calls started."""
        return len(self.callers)

    @property
    def running(self) -> int:
        """How many driver calls run now."""
        return sum({"start": 1, "end": -1}.get(entry.kind, 0) for entry in self.log)

    @property
    def refused(self) -> list[str | None]:
        """Who sent the calls that the device refused for an old fencing token, in order."""
        return [entry.caller for entry in self.log if entry.kind == "refused"]

    @property
    def last_end_s(self) -> float:
        """World time at which the last driver call ended. Raises AssertionError when none did."""
        ends = [entry.t_s for entry in self.log if entry.kind == "end"]
        assert ends, f"no driver call of {self.device_id} has ended by t={self._world.now_s:.3f}"
        return ends[-1]

    # -- trouble

    async def claim(self, fence: int) -> None:
        """Tell the device of a later holder's fencing token, as another host agent would."""
        name = self.device_id.rpartition("/")[2]
        await self._world.post(f"{self._rack_url}/v1/devices/{name}/claim", {"fence": fence})

    async def slow(self, tool: str, seconds: float) -> None:
        """From now on `tool` (or "*") takes this long."""
        await self._trouble(kind="slow", tool=tool, s=seconds)

    async def hang(self) -> None:
        """Nothing finishes, neither running nor new actions, until `heal`; then they finish as usual."""
        await self._trouble(kind="hang")

    async def disconnect(self) -> None:
        await self._trouble(kind="disconnect")

    async def crash(self) -> None:
        await self._trouble(kind="crash")

    async def heal(self) -> None:
        await self._trouble(kind="heal")

    async def _trouble(self, **what: Any) -> None:
        self._world.trace.emit("harness", "trouble", None, device_id=self.device_id, **what)
        name = self.device_id.rpartition("/")[2]
        await self._world.post(f"{self._rack_url}/v1/devices/{name}/trouble", what)
