"""How does the host agent drive devices that live in a rack, a process of their own?

Over the rack's HTTP wire. Reading how a device is doing is cheap and bounded; an action is not: it takes as long as the
device does, and whoever gives up earlier (ruling 13) is not the driver. A connection that breaks under an action does
not end it either: the driver waits until the rack says that the device is idle (HA-07).
Source: contract world, "Devices are a part of their own".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from lasttick.ports import DeviceInfo, DriverError, DriverHealth, StaleFence

CONNECT_S = 5.0
READ_S = 5.0
POLL_S = 1.0
STALE_FENCE = 412
HEALTHS: dict[str, DriverHealth] = {"ok": "ok", "offline": "offline", "error": "error"}


class RackClient:
    """A rack at a URL, as `ports.Drivers`. Whoever makes it closes it.

    `only`: ids of the devices that are this host's; all when None.
    """

    def __init__(
        self, url: str, *, transport: httpx.AsyncBaseTransport | None = None, only: Sequence[str] | None = None
    ) -> None:
        self._only = only
        self._http = httpx.AsyncClient(
            base_url=url,
            transport=transport,
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S, pool=None),
            # One connection per running action: a rack of a thousand devices must not queue at a pool.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=16),
            trust_env=False,
        )

    async def drivers(self) -> Sequence[RackDriver]:
        """One driver per device, in the rack's order. Raises DriverError."""
        answer = await _send(self._http, "GET", "/v1/devices")
        if answer.status_code != 200:
            raise DriverError(f"the rack answered HTTP {answer.status_code} to the list of its devices")
        try:
            found = [_driver(row, self._http) for row in answer.json()["devices"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DriverError(f"the rack's list of devices cannot be read: {error!r}") from error
        if self._only is None:
            return found
        missing = sorted(set(self._only) - {driver.info.device_id for driver in found})
        if missing:
            raise DriverError(f"the rack has no device {', '.join(missing)}; it has {len(found)} others")
        return [driver for driver in found if driver.info.device_id in self._only]

    async def aclose(self) -> None:
        await self._http.aclose()


class RackDriver:
    """One device of a rack, as `ports.DeviceDriver`."""

    def __init__(self, info: DeviceInfo, http: httpx.AsyncClient, left_over: bool = False, fence: int = 0) -> None:
        self.info = info
        self.fence = fence
        self._http = http
        self._left_over = left_over
        self._path = f"/v1/devices/{quote(info.device_id, safe='')}"

    async def health(self) -> DriverHealth:
        """What the rack says; `offline` when it cannot be asked or does not know the device."""
        try:
            answer = await _send(self._http, "GET", self._path)
        except DriverError:
            return "offline"
        if answer.status_code == 404:
            return "offline"
        try:
            return HEALTHS[answer.json()["health"]]
        except (ValueError, KeyError, TypeError):
            return "error"

    async def left_over(self) -> bool:
        """Asks the rack only while it has always said yes: what runs later is this host's own."""
        if self._left_over:
            try:
                answer = await _send(self._http, "GET", self._path)
                self._left_over = answer.json()["running"] > 0
            except (DriverError, ValueError, KeyError, TypeError):
                return True  # nobody knows what the device is doing
        return self._left_over

    async def claim(self, fence: int) -> bool:
        """Tell the device of a new holder's token; False while an action runs. Raises StaleFence, DriverError."""
        answer = await _send(self._http, "POST", f"{self._path}/claim", json={"fence": fence})
        await self._expect_200(answer)
        try:
            return bool(answer.json()["running"] == 0)
        except (ValueError, KeyError, TypeError) as error:
            raise DriverError(f"the rack's answer for {self.info.device_id} cannot be read") from error

    async def perform(self, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Mapping[str, Any]:
        """Run one action to its end, however long. Raises StaleFence, DriverError."""
        body = {"tool": tool, "arguments": dict(arguments)}
        try:
            answer = await _send(
                self._http,
                "POST",
                f"{self._path}/perform",
                json=body if fence is None else {**body, "fence": fence},
                timeout=httpx.Timeout(None, connect=CONNECT_S),
            )
        except AnswerLost:
            while await self._may_act():
                await asyncio.sleep(POLL_S)
            raise
        await self._expect_200(answer)
        try:
            result = answer.json()["result"]
        except (ValueError, KeyError, TypeError) as error:
            raise DriverError(f"the rack's answer for {self.info.device_id} cannot be read") from error
        if not isinstance(result, dict):
            raise DriverError(f"the rack's result for {self.info.device_id} is not an object")
        return result

    async def _may_act(self) -> bool:
        """Whether an action may be running: the rack says so or cannot be asked. One that never tells is idle."""
        try:
            answer = await _send(self._http, "GET", self._path)
            return answer.status_code >= 500 or bool(answer.json().get("running", 0) > 0)
        except DriverError:
            return True
        except (ValueError, AttributeError, TypeError):
            return False

    async def _expect_200(self, answer: httpx.Response) -> None:
        if answer.status_code == 200:
            return
        if answer.status_code != STALE_FENCE:
            raise DriverError(_refusal(answer, self.info.device_id))
        with contextlib.suppress(DriverError, ValueError, KeyError, TypeError):
            now = await _send(self._http, "GET", self._path)
            self.fence = max(self.fence, int(now.json()["fence"]))
        raise StaleFence(_refusal(answer, self.info.device_id))


class AnswerLost(DriverError):
    """The request may have reached the rack; what became of it is not known."""


async def _send(http: httpx.AsyncClient, method: str, path: str, **request: Any) -> httpx.Response:
    try:
        return await http.request(method, path, **request)
    except httpx.HTTPError as error:
        kind = DriverError if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) else AnswerLost
        raise kind(f"the rack cannot be reached: {str(error) or type(error).__name__}") from error


def _driver(row: Mapping[str, Any], http: httpx.AsyncClient) -> RackDriver:
    """A rack that knows no tokens is no obstacle: it refuses nothing."""
    return RackDriver(_info(row), http, row.get("running", 0) > 0, int(row.get("fence", 0)))


def _info(device: Mapping[str, Any]) -> DeviceInfo:
    return DeviceInfo(
        device_id=device["device_id"],
        platform=device["platform"],
        scale=device["scale"],
        width_px=device["width_px"],
        height_px=device["height_px"],
    )


def _refusal(answer: httpx.Response, device_id: str) -> str:
    """What the device said, or what the status means when it said nothing readable."""
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        meaning = {404: "does not know the device", 409: "says an action is already running"}.get(answer.status_code)
        return f"the rack {meaning or f'answered HTTP {answer.status_code}'} ({device_id})"
