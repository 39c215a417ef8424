"""What does a person's browser make of a page? A real headless Chromium for one world, driven through Playwright.

Neither belongs to the core: where one is missing the scenario is inconclusive and says how to get it. The browser can
reach nothing but loopback, whatever a page asks for, and everything that was asked for is remembered.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lasttick.targets.outcome import Inconclusive

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
VARIABLE = "LASTTICK_CHROMIUM"
"""An environment variable with the path of a Chromium elsewhere."""
ARGUMENTS = (
    "--no-sandbox",  # in a container there is often none to be had; the pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PHONE = (360, 740)
DESK = (1100, 800)
WAIT_MS = 8_000
"""How long a page may take to show what it must, on a machine that does other things too."""


class Browser:
    """A running browser. `asked`: the URL of every request of its pages; `errors`: what their scripts died of."""

    def __init__(self, playwright: Any, chromium: Any) -> None:
        self._playwright = playwright
        self._chromium = chromium
        self.asked: list[str] = []
        self.errors: list[str] = []

    async def page(
        self, size: tuple[int, int] = DESK, *, dark: bool = False, scripts: bool = True, like: Any = None
    ) -> Any:
        """A Playwright page with cookies of its own, or those of the page `like`."""
        state = None if like is None else await like.context.storage_state()
        context = await self._chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            storage_state=state,
        )
        context.set_default_timeout(WAIT_MS)
        context.on("request", lambda request: self.asked.append(request.url))
        page = await context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    async def close(self) -> None:
        """End it, and whatever its pages still load."""
        # A browser that has died already must not hide why the scenario failed.
        with suppress(Exception):
            await self._chromium.close()
        with suppress(Exception):
            await self._playwright.stop()


def find_chromium(environ: Mapping[str, str]) -> Path:
    """The program. Raises Inconclusive where there is none."""
    named = environ.get(VARIABLE)
    found = named if named else next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if found is None or not os.access(found, os.X_OK):
        raise Inconclusive(
            f"no Chromium: {f'{VARIABLE} is {named!r}' if named else 'none of ' + ', '.join(PROGRAMS)} can be run; "
            f"expected one for scenarios in a browser; `apt-get install chromium`, or set {VARIABLE} to its path"
        )
    return Path(found)


async def start_browser(environ: Mapping[str, str] = os.environ) -> Browser:
    """Start one. Raises Inconclusive where Playwright or Chromium is missing or does not start."""
    try:
        api = importlib.import_module("playwright.async_api")
    except ImportError as error:
        raise Inconclusive(
            f"no Playwright: {error}; expected it for scenarios in a browser; `pip install 'lasttick[browser]'`"
        ) from error
    program = find_chromium(environ)
    playwright = await api.async_playwright().start()
    try:
        chromium = await playwright.chromium.launch(executable_path=str(program), args=list(ARGUMENTS))
    except api.Error as error:
        await playwright.stop()
        said = str(error).strip().splitlines()
        raise Inconclusive(
            f"{program} does not start: {said[0] if said else error!r}; expected a Chromium that runs headless; try "
            f"`{program} --headless --no-sandbox --dump-dom about:blank`"
        ) from error
    except BaseException:
        await playwright.stop()
        raise
    return Browser(playwright, chromium)
