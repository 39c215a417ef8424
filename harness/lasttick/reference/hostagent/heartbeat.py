"""How does the cloud learn, every half minute, which devices it must leave alone?

A heartbeat carries what the arbiter holds at that moment for MCP sessions. A cloud that is down, slow or has forgotten
us, or that believes an earlier life of ours, never ends the loop: the next heartbeat makes the view right again.
Source: hostagent parts table, HA-08; seed, D8.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from lasttick.model.lease import LeaseView
from lasttick.ports import Clock, StoreUnavailable
from lasttick.reference.hostagent.cloud_client import CloudClient, CloudError, HostUnknown
from lasttick.reference.hostagent.status_board import Look

logger = logging.getLogger(__name__)


def mcp_busy_device_ids(leases: Iterable[LeaseView]) -> list[str]:
    """The devices that MCP sessions hold, sorted. Who holds them is nobody's business (HA-02)."""
    return sorted(lease.device_id for lease in leases if lease.holder.kind == "mcp")


def device_rows(seen: Look) -> list[dict[str, Any]]:
    """Devices as the cloud gets them: `{device_id, platform, status}`."""
    return [{name: row[name] for name in ("device_id", "platform", "status")} for row in seen.devices]


def payload(seq: int, seen: Look) -> dict[str, Any]:
    """The body of one heartbeat: `{seq, devices, mcp_busy_device_ids}`."""
    return {"seq": seq, "devices": device_rows(seen), "mcp_busy_device_ids": mcp_busy_device_ids(seen.leases)}


def next_beat_ns(last_ns: int, period_ns: int, now_ns: int) -> int:
    """The next multiple of the period after `last_ns` that is still ahead: missed beats are not made up for."""
    missed = max(0, now_ns - last_ns) // period_ns
    return last_ns + (missed + 1) * period_ns


class HeartbeatLoop:
    """Registers the host and beats until cancelled. `registered` is set while the cloud knows us, as far as we know."""

    def __init__(
        self,
        *,
        cloud: CloudClient,
        host_id: str,
        clock: Clock,
        period_s: float,
        look: Callable[[], Awaitable[Look]],
    ) -> None:
        self.registered = asyncio.Event()
        self._cloud = cloud
        self._host_id = host_id
        self._clock = clock
        self._period_s = period_s
        self._look = look
        self._seq = 0
        self._failing = False

    async def run(self) -> None:
        """Beat at once, then once a period, for ever."""
        period_ns = round(self._period_s * 1e9)
        due_ns = self._clock.now_ns()
        while True:
            await self._beat()
            now_ns = self._clock.now_ns()
            due_ns = next_beat_ns(due_ns, period_ns, now_ns)
            await self._clock.sleep((due_ns - now_ns) / 1e9)

    async def _beat(self) -> None:
        try:
            # Half a period: what one slow answer costs is that heartbeat, never the next one.
            async with asyncio.timeout(self._period_s / 2):
                if not self.registered.is_set():
                    await self._register()
                try:
                    await self._send()
                except HostUnknown:
                    await self._register()
                    await self._send()
        except (CloudError, StoreUnavailable, TimeoutError) as error:
            # A store that is away cannot say what is held: no heartbeat, rather than one that shows devices free.
            # Once per outage: a cloud that is down for a day must not fill the log.
            logger.log(
                logging.DEBUG if self._failing else logging.WARNING,
                "heartbeat failed: %s",
                str(error) or "no answer in time",
            )
            self._failing = True
        except Exception:
            logger.exception("heartbeat failed")
            self._failing = True
        else:
            if self._failing:
                logger.info("heartbeat works again")
            self._failing = False

    async def _register(self) -> None:
        self.registered.clear()
        await self._cloud.register(self._host_id, device_rows(await self._look()))
        self.registered.set()

    async def _send(self) -> None:
        behind = await self._send_one()
        if behind is not None and behind >= self._seq:
            # Something on the road kept a heartbeat of our earlier life, which had come further: it would pass for
            # newer than all of ours until we have counted as far.
            logger.debug("the cloud has heartbeat %d, ours was %d; counting on from there", behind, self._seq)
            self._seq = behind
            await self._send_one()

    async def _send_one(self) -> int | None:
        """One heartbeat; the number of a later one that the cloud has, if it took that for newer than this."""
        self._seq += 1
        return await self._cloud.heartbeat(self._host_id, payload(self._seq, await self._look()))
