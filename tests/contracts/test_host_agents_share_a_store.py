"""Two host agents, one rack, one Redis, all real processes: does `--lease-store` hold what the page says?"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.cli import execute
from lasttick.engine.clock import SystemClock
from lasttick.reference.hostagent.instance_lock import InstanceLock
from lasttick.reference.hostagent.sqlite_store import SqliteLeaseStore
from lasttick_fakes.client import McpClient

from .own_redis import OwnRedis

REPOSITORY = Path(__file__).parents[2]
UP_S = 60.0
Start = Callable[..., Callable[[], dict[str, Any]]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `lasttick serve ...`; what it gives waits for the ready line."""
    processes: list[subprocess.Popen[bytes]] = []
    path = os.pathsep.join([str(REPOSITORY / "harness"), str(REPOSITORY / "fakes")])

    def begin(*words: str, **environ: str) -> Callable[[], dict[str, Any]]:
        log = tmp_path / f"{len(processes)}.log"
        with log.open("wb") as errors:
            command = [sys.executable, "-m", "lasttick", "serve", *words]
            environment = {**os.environ, "PYTHONPATH": path, **environ}
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment))

        def ready() -> dict[str, Any]:
            until = time.monotonic() + UP_S
            while True:
                for line in log.read_text().splitlines(keepends=True):
                    if line.startswith('{"name"') and line.endswith("\n"):
                        return dict(json.loads(line))
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.02)

        return ready

    yield begin
    for process in processes:
        process.kill()
        process.wait()


def test_a_device_has_one_holder_over_two_hosts_and_a_redis_that_dies(tmp_path: Path, start: Start) -> None:
    redis = OwnRedis(tmp_path)
    rack = start("devices", "--port", "0", "--devices", "phone-1")()["url"]
    folders = [tmp_path / name for name in ("one", "two")]
    waits = [
        start("hostagent", "--port", "0", "--identity-dir", str(folder), "--devices", rack, *words, **environ)
        for folder, words, environ in zip(
            folders,
            (("--lease-store", f"{redis.url}#mine"), ()),
            ({}, {"HOST_AGENT_LEASE_STORE": f"{redis.url}#mine"}),
            strict=True,
        )
    ]

    async def client(folder: Path, ready: dict[str, Any]) -> McpClient:
        token = json.loads((folder / "host_mcp_token.json").read_text())["token"]
        one = McpClient(ready["url"], token=token, name="agent")
        await one.open()
        return one

    async def tap(one: McpClient) -> str:
        error = (await one.call("tap", device_id="phone-1", x=1, y=2)).error
        return "ok" if error is None else str(error.data["reason"])

    async def status(folder: Path, ready: dict[str, Any]) -> httpx.Response:
        async with httpx.AsyncClient(base_url=ready["console"], trust_env=False) as http:
            password = json.loads((folder / "host_console.json").read_text())["password"]
            await http.post("/login", json={"password": password})
            return await http.get("/api/status")

    async def story() -> None:
        readies = [wait() for wait in waits]
        alice, bob = [await client(*both) for both in zip(folders, readies, strict=True)]
        assert (await tap(alice), await tap(bob)) == ("ok", "device_busy")
        for both in zip(folders, readies, strict=True):
            (row,) = (await status(*both)).json()["mcp_busy_devices"]
            assert row["device_id"] == "phone-1"
        redis.kill()
        assert (await tap(alice), await tap(bob)) == ("store_unavailable", "store_unavailable")
        assert (await status(folders[0], readies[0])).status_code == 503
        redis.start()
        assert (await tap(bob), await tap(alice)) == ("ok", "device_busy")
        await bob.delete()
        assert await tap(alice) == "ok"
        for one in (alice, bob):
            await one.close()

    try:
        asyncio.run(story())
    finally:
        redis.kill()


def test_a_second_agent_on_one_folder_hears_of_the_first_and_not_of_its_lease_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """HA-23, with a store that only one process may open."""
    file = tmp_path / "leases.db"
    words = ["serve", "hostagent", "--port", "0", "--identity-dir", str(tmp_path), "--lease-store", f"sqlite:{file}"]
    first = SqliteLeaseStore(file, SystemClock())
    try:
        with InstanceLock(tmp_path):
            assert execute(words) == 2
            assert str(os.getpid()) in capsys.readouterr().err
        assert execute(words) == 2
        assert "the lease file" in capsys.readouterr().err
    finally:
        first.close()
