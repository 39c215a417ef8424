"""What a page of the console is told: the server-sent events of one stream, as they come, with their instants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from lasttick import World

FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class Event:
    t_s: float
    name: str
    data: Any


@dataclass(slots=True)
class Page:
    """A browser's tab, as far as the network knows it. `over` is set when the stream has ended."""

    world: World
    answer: httpx.Response
    events: list[Event] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    over: bool = False
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def boards(self) -> list[Event]:
        return [event for event in self.events if event.name == "board"]

    @property
    def held(self) -> list[str]:
        """What the page shows as held over MCP."""
        return [row["device_id"] for row in self.boards[-1].data["mcp_busy_devices"]]

    @property
    def why(self) -> str | None:
        """Why the stream ended, as it was told."""
        return next((event.data["why"] for event in self.events if event.name == "over"), None)

    async def shows(self, held: list[str], within_s: float) -> Event:
        """Wait until the page shows exactly these devices as held."""
        await self._until(lambda: bool(self.boards) and self.held == held, within_s, f"the page must show {held} held")
        return self.boards[-1]

    async def ends(self, within_s: float) -> None:
        await self._until(lambda: self.over, within_s, "the stream must end")

    async def _until(self, reached: Callable[[], bool], within_s: float, what: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not reached():
                    self._more.clear()
                    await self._more.wait()
        last = self.boards[-1].data["mcp_busy_devices"] if self.boards else None
        assert reached(), f"{what} within {within_s:g} s; over: {self.over}, last board: {last}"

    async def read(self) -> None:
        name = ""
        with suppress(httpx.HTTPError):  # the host is gone: that is an end too
            async for line in self.answer.aiter_lines():
                self.raw.append(line)
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    self.events.append(Event(self.world.now_s, name, json.loads(line.removeprefix("data: "))))
                    self._more.set()
        self.over = True
        self._more.set()


async def watch(world: World, http: httpx.AsyncClient) -> Page:
    """Open `/api/events` as a page does. Raises AssertionError when it is refused."""
    answer = await knock(http)
    assert answer.status_code == 200, f"/api/events gave HTTP {answer.status_code}"
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    page = Page(world, answer)
    world.start(page.read())
    return page


async def knock(http: httpx.AsyncClient) -> httpx.Response:
    """The head of the answer of `/api/events`; its body is read by nobody."""
    request = http.build_request("GET", "/api/events", timeout=None)
    return await asyncio.wait_for(http.send(request, stream=True), 10)


async def fill_in(http: httpx.AsyncClient, password: str, **headers: str) -> httpx.Response:
    """The login form, as a browser sends it. Header names as keywords, `_` for `-`."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    own = {"origin": str(http.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    return await http.post("/login", data={"password": password}, headers=given or own)
