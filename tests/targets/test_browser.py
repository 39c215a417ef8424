"""A browser that is missing is said, with how to get it; one that is there reaches this machine and no other."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from lasttick.targets import browser
from lasttick.targets.browser import PHONE, find_chromium, start_browser
from lasttick.targets.outcome import Inconclusive


def test_without_playwright_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(Inconclusive, match=r"pip install 'lasttick\[browser\]'"):
        asyncio.run(start_browser({}))


def test_without_chromium_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "PROGRAMS", ("no-such-chromium",))
    with pytest.raises(Inconclusive, match="apt-get install chromium"):
        find_chromium({})


def test_the_variable_names_another_one(tmp_path: Path) -> None:
    program = tmp_path / "chrome"
    program.write_text("")
    with pytest.raises(Inconclusive, match="LASTTICK_CHROMIUM is"):
        find_chromium({"LASTTICK_CHROMIUM": str(program)})
    program.chmod(0o755)
    assert find_chromium({"LASTTICK_CHROMIUM": str(program)}) == program


def installed() -> bool:
    try:
        import playwright.async_api  # type: ignore[import-not-found,unused-ignore]  # noqa: F401

        find_chromium({})
    except (ImportError, Inconclusive):
        return False
    return True


needs_chromium = pytest.mark.skipif(not installed(), reason="Chromium or Playwright is missing: see lasttick doctor")


@needs_chromium
def test_what_is_no_browser_is_inconclusive(tmp_path: Path) -> None:
    program = tmp_path / "chrome"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(Inconclusive, match="does not start"):
        asyncio.run(start_browser({"LASTTICK_CHROMIUM": str(program)}))


@needs_chromium
def test_it_reaches_this_machine_and_no_other() -> None:
    """Slow: two seconds, for the browser."""

    async def serve(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"<script>fetch('http://elsewhere.example/').catch(() => document.title = 'nobody'); nothing()</script>"
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        shown = await start_browser({})
        try:
            page = await shown.page(PHONE, dark=True)
            await page.goto(url)
            await page.wait_for_function("document.title === 'nobody'")
            assert await page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [
                360,
                True,
            ]
            assert url in shown.asked
            assert "http://elsewhere.example/" in shown.asked
            assert any("nothing is not defined" in error for error in shown.errors)
        finally:
            await shown.close()
            await shown.close()
        server.close()

    asyncio.run(main())
