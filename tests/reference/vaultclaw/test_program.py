"""From an environment to a server that answers, and its end. Source: contract vaultclaw 2, rulings 10, 19, 20."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw import start_up
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.program import VaultclawServer

from .core_rig import TOKEN, FakeVault
from .test_stdio import PING, PONG, Written


class Run:
    """One start in a folder of its own; `said` is standard error."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.said: list[str] = []
        self.vault = FakeVault()
        catalog = {"ACCORDS_MCP_CATALOG_DIR": str(folder / "catalog")}
        self.config = VaultclawConfig.from_env(catalog | environ, folder)
        self.dialled: list[str | None] = []

    def _dial(self, socket_path: str | None) -> httpx.AsyncBaseTransport:
        self.dialled.append(socket_path)
        return self.vault

    def parts(self, loop: VirtualLoop) -> dict[str, Any]:
        return {"clock": VirtualClock(loop), "entropy": Chance(3), "transports": self._dial, "say": self.said.append}

    def tools(self, *calls: tuple[str, Any]) -> list[Any]:
        """Start, call these over HTTP, stop; the envelopes."""

        async def main(loop: VirtualLoop) -> list[Any]:
            server = VaultclawServer(self.config, **self.parts(loop))
            await server.start()
            answers = []
            async with httpx.AsyncClient(transport=httpx.ASGITransport(server.app), base_url="http://mcp") as http:
                for name, arguments in calls:
                    params = {"name": f"vaultclaw_{name}", "arguments": arguments}
                    message = {"id": 1, "method": "tools/call", "params": params}
                    answers.append((await http.post("/mcp", json=message)).json()["result"]["structuredContent"])
            await server.stop()
            return answers

        return run_virtual(main)

    def stdio(self, data: bytes) -> bytes:
        async def main(loop: VirtualLoop) -> bytes:
            reader, writer = asyncio.StreamReader(), Written()
            reader.feed_data(data)
            reader.feed_eof()
            server = VaultclawServer(self.config, **self.parts(loop))
            await server.start()
            await server.serve_stdio(reader, writer)
            await server.stop()
            return writer.data

        return run_virtual(main)

    def refused(self) -> str:
        with pytest.raises(StartError) as refused:
            self.tools()
        return str(refused.value)


def test_it_starts_with_the_cookbooks_of_the_project(tmp_path: Path) -> None:
    run = Run(tmp_path)
    [listed] = run.tools(("cookbooks_list", {"filter": {"cookbook_id": "google.workspace"}}))
    assert "1.3.0" in json.dumps(listed["data"])
    assert run.said == []
    assert (tmp_path / "catalog" / ".bundled-cookbooks-seed.v1.json").is_file()


def test_on_streams_it_answers_until_their_end(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.stdio(PING + b"\n" + PING) == (PONG + b"\n") * 2
    assert run.said == []


def test_stop_ends_a_call_on_streams(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> tuple[float, bytes]:
        run = Run(tmp_path, VC_AGENT_TOKEN=TOKEN)
        run.vault.answer = lambda request: asyncio.sleep(2, {"seen": True})
        server = VaultclawServer(run.config, **run.parts(loop))
        await server.start()
        reader, writer = asyncio.StreamReader(), Written()
        serving = asyncio.ensure_future(server.serve_stdio(reader, writer))
        reader.feed_data(b'{"id":1,"method":"tools/call","params":{"name":"vaultclaw_connectors_list"}}\n')
        await asyncio.sleep(1)
        await server.stop()
        await serving
        return loop.time(), writer.data

    ended_s, data = run_virtual(main)
    assert ended_s == 2
    assert b"seen" in data


def test_the_vault_is_reached_with_the_environments_session(tmp_path: Path) -> None:
    run = Run(tmp_path, VC_AGENT_TOKEN=TOKEN, VC_UNIX_SOCKET="/run/v.sock")
    run.vault.answer = lambda request: {"echo": request.headers["authorization"]}
    [answer] = run.tools(("connectors_list", {}))
    assert answer["data"] == {"echo": "Bearer ***"}
    assert run.dialled == ["/run/v.sock"]


def test_no_home_no_catalog(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.config = VaultclawConfig.from_env({}, tmp_path)
    assert "ACCORDS_MCP_CATALOG_DIR" in run.refused()


def test_a_catalog_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "catalog").write_text("no folder")
    assert "catalog" in Run(tmp_path).refused()


def folder_of(tmp_path: Path, **files: bytes) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def test_an_empty_folder_of_cookbooks(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    assert "own" in Run(tmp_path, ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR=str(folder)).refused()


def test_cookbooks_without_the_routes_entries_are_refused(tmp_path: Path) -> None:
    bundle = {
        "type": "accords.cookbook.bundle.v1",
        "cookbook_id": "mine",
        "version": "1.0.0",
        "title": "Mine",
        "entries": [
            {
                "entry_id": "e",
                "entry_type": "template.verb.v1",
                "title": "E",
                "base_request": {"connector_id": "c", "verb": "v", "request": {}},
                "bindings": [],
            }
        ],
    }
    folder = folder_of(tmp_path, **{"mine.json": json.dumps(bundle).encode()})
    assert "google.workspace 1.3.0" in Run(tmp_path, ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR=str(folder)).refused()


def test_a_deleted_bundled_cookbook_is_one_line_and_no_refusal(tmp_path: Path) -> None:
    named = {"cookbook_id": "google.workspace", "version": "1.3.0"}
    Run(tmp_path).tools(("cookbook_delete", named))
    again = Run(tmp_path)
    [got] = again.tools(("cookbook_get", named))
    assert got["error"]["code"] == "MCP_CATALOG_NOT_FOUND"
    [line] = again.said
    assert "google.workspace 1.3.0" in line


def test_a_bundled_cookbook_that_somebody_put_another_in_place_of(tmp_path: Path) -> None:
    named = {"cookbook_id": "google.workspace", "version": "1.3.0"}
    [got] = Run(tmp_path).tools(("cookbook_get", named))
    bundle = got["data"]["bundle"] if "bundle" in got["data"] else got["data"]
    less = {**bundle, "entries": bundle["entries"][:1]}
    [put] = Run(tmp_path).tools(("cookbook_upsert", {"bundle": less, "conflict_policy": "OVERWRITE"}))
    assert put["ok"], put
    again = Run(tmp_path)
    again.tools()
    [line] = again.said
    assert "warning" in line


@pytest.mark.parametrize(
    ("environ", "itself"),
    [
        ({"ACCORDS_MCP_HTTP_ADDR": ":8080"}, True),
        ({"ACCORDS_MCP_HTTP_ADDR": "localhost:8080"}, True),
        ({"ACCORDS_MCP_HTTP_ADDR": "0.0.0.0:80", "VC_BASE_URL": "http://localhost"}, True),
        ({"ACCORDS_MCP_HTTP_ADDR": "10.0.0.7:9", "VC_BASE_URL": "http://10.0.0.7:9"}, True),
        ({"ACCORDS_MCP_HTTP_ADDR": ":8081"}, False),
        ({"ACCORDS_MCP_HTTP_ADDR": ":8080", "VC_BASE_URL": "http://vault:8080"}, False),
        ({"ACCORDS_MCP_HTTP_ADDR": ":80", "VC_UNIX_SOCKET": "/v.sock"}, False),
        ({"ACCORDS_MCP_HTTP_ADDR": ":8080", "VC_BASE_URL": "unix:///v.sock"}, False),
        ({}, False),
    ],
)
def test_a_base_url_that_is_the_server_itself(environ: dict[str, str], itself: bool, tmp_path: Path) -> None:
    run = Run(tmp_path, **environ)
    run.tools()
    assert any("own address" in line for line in run.said) is itself


def test_no_line_on_standard_error_shows_a_token(tmp_path: Path) -> None:
    base_url = f"http://127.0.0.1:8080/?token={TOKEN}"
    run = Run(tmp_path, ACCORDS_MCP_HTTP_ADDR=":8080", VC_BASE_URL=base_url, VC_AGENT_TOKEN=TOKEN)
    run.tools()
    [line] = run.said
    assert "http://127.0.0.1:8080/?token=***" in line
    assert TOKEN not in line


def test_the_token_of_a_source_is_known_once_it_is_sent(tmp_path: Path) -> None:
    token = "source-T0ken-0123456789abcdef"
    source = {"source_id": "s", "index_url": "http://x.test/i", "auth_mode": "BEARER_ENV", "auth_env_var": "SOURCE"}
    run = Run(tmp_path, SOURCE=token)
    run.vault.answer = lambda request: httpx.Response(
        404, stream=httpx.ByteStream(request.headers["authorization"].encode())
    )
    _, listed = run.tools(("catalog_source_upsert", {"source": source}), ("cookbooks_remote_list", {"source_id": "s"}))
    assert run.vault.asked[0].headers["authorization"] == f"Bearer {token}"
    assert listed["error"]["details"]["body"] == "Bearer ***"


def test_cookbooks_are_looked_for_upwards_and_then_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_up, "INSTALLED", tmp_path / "opt")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    config = VaultclawConfig.from_env({}, deep)
    assert start_up.cookbooks_folder(config) == start_up.PACKAGED
    (tmp_path / "cookbooks").mkdir()
    assert start_up.cookbooks_folder(config) == tmp_path / "cookbooks"
    (tmp_path / "opt").mkdir()
    assert start_up.cookbooks_folder(config) == tmp_path / "opt"
    named = VaultclawConfig.from_env({"ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR": "named"}, deep)
    with pytest.raises(StartError, match="named"):
        start_up.cookbooks_folder(named)
    (deep / "named").mkdir()
    assert start_up.cookbooks_folder(named) == deep / "named"


def test_before_the_start_there_is_nothing_to_serve(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        run = Run(tmp_path)
        server = VaultclawServer(run.config, **run.parts(loop))
        with pytest.raises(RuntimeError, match="has not started"):
            _ = server.app
        await server.stop()

    run_virtual(main)
