"""Steps that several topics share: wait for a heartbeat, read what the cloud was sent, listen to what a host logs."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lasttick import World

HELD_BY_MCP = "device held by active MCP session"


async def heard(world: World, cloud: Any) -> None:
    """Wait until the cloud has taken a heartbeat since its last start, so that its scheduler may use the host."""
    last_s = world.now_s + 2 * world.ttl_s
    while not any(view["last_seq"] is not None for view in await cloud_view(world, cloud)):
        assert world.now_s < last_s, f"the cloud heard of no host within {2 * world.ttl_s:g} s"
        await world.until(world.now_s + world.tick_s)


async def moving(world: World, phone: Any) -> None:
    """Wait until a driver call runs on the phone, which must not take longer than two TTLs."""
    last_s = world.now_s + 2 * world.ttl_s
    while not phone.running:
        assert world.now_s < last_s, f"no driver call has begun on {phone.device_id} within {2 * world.ttl_s:g} s"
        await world.advance(world.tick_s)


async def out_of_quarantine(world: World, host: Any, device_id: str) -> None:
    """Wait until the host agent has seen that the device is well, which must not take longer than two TTLs."""
    last_s = world.now_s + 2 * world.ttl_s
    while {row["device_id"]: row["status"] for row in (await host.status())["devices"]}[device_id] == "error":
        assert world.now_s < last_s, f"{device_id} is still in quarantine after {2 * world.ttl_s:g} s"
        await world.advance(max(world.tick_s, world.ttl_s / 120))  # not every tick: a status costs something


async def cloud_view(world: World, cloud: Any) -> list[dict[str, Any]]:
    """Every host as the cloud's scheduler sees it now."""
    return list((await world.get(f"{cloud.url}/v1/hosts"))["hosts"])


async def seen_busy(world: World, cloud: Any) -> list[str] | None:
    """`mcp_busy_device_ids` of the one host, as the cloud believes it now."""
    (view,) = await cloud_view(world, cloud)
    busy: list[str] | None = view["mcp_busy_device_ids"]
    return busy


async def heartbeat_bytes(world: World, cloud: Any) -> list[bytes]:
    """Each heartbeat as the bytes of its request, in order of arrival."""
    requests = (await world.get(f"{cloud.url}/v1/log"))["requests"]
    return [base64.b64decode(sent["body_base64"]) for sent in requests if sent["path"].endswith("/heartbeat")]


async def cloud_trouble(world: World, cloud: Any, kind: str, **what: Any) -> None:
    """What goes wrong in the cloud from now on: `lasttick_fakes.cloud.trouble`, and heal, stop, start, restart."""
    await world.post(f"{cloud.url}/v1/trouble", {"kind": kind, **what})


async def refused_start(world: World, **options: Any) -> str:
    """Start a host agent that must refuse to start, and return what it said."""
    try:
        await world.hostagent(**options)
    except Exception as error:  # a StartError here, a child that ended there
        return str(error)
    raise AssertionError(f"the host agent started with {options}; expected it to refuse")


async def over(world: World, cloud: Any, task_id: str) -> dict[str, Any]:
    """The task once it has succeeded or failed for good, which must not take longer than two TTLs."""
    finished = world.start(cloud.finished(task_id))
    await asyncio.wait([finished], timeout=2 * world.ttl_s)
    assert finished.done(), f"{task_id} was not reported within {2 * world.ttl_s:g} s"
    task: dict[str, Any] = finished.result()
    return task


def workflow(x: float, y: float) -> list[dict[str, Any]]:
    """One tap; give each task coordinates that nobody else uses, so that the device's log tells who tapped."""
    return [{"tool": "tap", "arguments": {"x": x, "y": y}}]


class Log:
    """What the host agent logged while somebody listened. In process mode its log is elsewhere: `heard` is False."""

    def __init__(self, heard: bool) -> None:
        self.heard = heard
        self.records: list[logging.LogRecord] = []

    def levels(self, text: str) -> list[str]:
        """The level of each record that contains `text`."""
        return [record.levelname for record in self.records if text in record.getMessage()]

    def at_least(self, level: int) -> list[str]:
        return [record.getMessage() for record in self.records if record.levelno >= level]

    def tracebacks(self, text: str = "") -> int:
        """How many records that contain `text` carry a traceback."""
        return sum(1 for record in self.records if record.exc_info and text in record.getMessage())


@contextmanager
def listening(world: World) -> Iterator[Log]:
    """Hear every record of every logger, DEBUG included."""
    log = Log(heard=world.mode == "virtual")
    root = logging.getLogger()
    handler = logging.Handler()
    handler.emit = log.records.append  # type: ignore[method-assign]
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield log
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
