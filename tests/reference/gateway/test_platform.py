"""The whole: start, stop, what an earlier process left, and the same bytes over real sockets."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.trust import Admitted, Claims
from lasttick.reference.gateway import platform as module
from lasttick.reference.gateway.config import ConfigError, GatewayConfig
from lasttick.reference.gateway.database import setting
from lasttick.reference.gateway.ledger import Attempt
from lasttick.reference.gateway.platform import EXECUTE_PATH, Platform

from .platform_rig import ADMIN, ENVIRON, INTERNAL, JWT_KEY, ORG, READ, SECRET, Rig, Strangers, with_platform


def on_file(folder: Path) -> dict[str, str]:
    return {"DATABASE_URL": f"sqlite:///{folder}/gateway.sqlite"}


def test_rows_outlive_the_process_and_active_runs_do_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ruling 12: no turn survives its platform, so no manifest does."""
    caplog.set_level(logging.INFO)

    async def main(loop: VirtualLoop) -> None:
        first = Rig(loop, on_file(tmp_path))
        async with first.platform.running():
            first.org()
            run_id = first.run()
            assert (await first.execute(run_id)).status == 200
        second = Rig(loop, on_file(tmp_path), chance=first.chance)
        async with second.platform.running():
            assert "1 runs of an earlier process were still active" in caplog.text
            assert (await second.execute(run_id)).code == "RUN_NOT_ACTIVE"
            assert second.outcomes() == ["OK", "RUN_NOT_ACTIVE"]
            assert (await second.chat({"text": "x"})).status == 200

    run_virtual(main)


def test_a_killed_platforms_open_rows_are_closed_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An open row is a call that goes on; that of a process that is gone does not. A restart alone closes nothing."""

    async def main(loop: VirtualLoop) -> None:
        killed = Rig(loop, on_file(tmp_path))
        async with killed.platform.running():
            killed.org()
            run_id = killed.run()
            assert (await killed.execute(run_id)).status == 200
            admitted = Admitted("internal", Claims("internal-agent:org-a", "org-a", "runner", "runner"))
            killed.platform.ledger.opened(Attempt(admitted, run_id, "order_lookup", "lookup", {}))
            before = killed.rows()
        assert [row["outcome"] for row in before] == ["OK", None]
        await asyncio.sleep(10)
        second = Rig(loop, on_file(tmp_path), chance=killed.chance)
        async with second.platform.running():
            rows = second.rows()
            assert rows[0] == before[0]
            assert rows[1] == {**before[1], "outcome": "INTERRUPTED", "closed_at": second.clock.wall().isoformat()}
            assert "1 tool calls of an earlier process were cut off" in caplog.text
        caplog.clear()
        third = Rig(loop, on_file(tmp_path), chance=killed.chance)
        async with third.platform.running():
            assert third.rows() == rows
            assert "cut off" not in caplog.text

    run_virtual(main)


def test_a_second_platform_on_the_same_file_does_not_start(tmp_path: Path) -> None:
    """It would end the turns of the first, which goes on; when that has stopped, the next one may start."""

    async def main(loop: VirtualLoop) -> None:
        first = Rig(loop, on_file(tmp_path))
        async with first.platform.running():
            first.org()
            run_id = first.run()
            with pytest.raises(ConfigError, match=r"another platform works on .*gateway.sqlite; expected one platform"):
                async with Rig(loop, on_file(tmp_path)).platform.running():
                    pass
            assert (await first.execute(run_id)).status == 200
        async with Rig(loop, on_file(tmp_path), chance=first.chance).platform.running():
            pass

    run_virtual(main)


def test_a_lock_that_can_not_be_taken_is_said(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        (tmp_path / "gateway.sqlite.lock").mkdir()
        with pytest.raises(ConfigError, match=r"gateway.sqlite.lock cannot be locked: .*; expected a file"):
            async with Rig(loop, on_file(tmp_path)).platform.running():
                pass

    run_virtual(main)


def test_a_changed_registry_outlives_the_process(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        first = Rig(loop, on_file(tmp_path))
        async with first.platform.running():
            first.platform.catalogue.put_tools({})
        second = Rig(loop, on_file(tmp_path))
        async with second.platform.running():
            assert second.platform.catalogue.tools().entries == {}

    run_virtual(main)


ENTRY = {"kind": "http", "actions": [{"name": "x", "accessClass": "read"}]}


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (json.dumps({"a-b": ENTRY, "a_b": ENTRY}), "'a-b:x' and 'a_b:x'"),
        ("{", "Expecting property name"),
        (json.dumps({"a:b": ENTRY}), "a:b"),
        (json.dumps([]), "an object of tools"),
    ],
)
def test_a_registry_it_can_not_start_with(stored: str, said: str, tmp_path: Path) -> None:
    """Ruling 8: two pairs that the agent would fold together are refused at the start, both named."""

    async def main(loop: VirtualLoop) -> None:
        first = Rig(loop, on_file(tmp_path))
        async with first.platform.running():
            with first.platform.catalogue._database.begin() as connection:
                connection.execute(setting.update().where(setting.c.name == "registry").values(value=stored))
        second = Rig(loop, on_file(tmp_path))
        with pytest.raises(ConfigError, match=r"the stored tool registry cannot be used: .*; expected .*; ") as raised:
            async with second.platform.running():
                pass
        assert said in str(raised.value)

    run_virtual(main)


def test_it_runs_once() -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop)
        async with rig.platform.running():
            pass
        with pytest.raises(RuntimeError, match="has run already"):
            async with rig.platform.running():
                pass

    run_virtual(main)


def test_its_lifespan_starts_it() -> None:
    async def main(loop: VirtualLoop) -> None:
        for entered in (False, True):
            rig = Rig(loop)
            messages = ["lifespan.startup", "lifespan.shutdown"]
            sent: list[str] = []

            async def receive(messages: list[str] = messages) -> dict[str, str]:
                return {"type": messages.pop(0)}

            async def collect(message: Any, rig: Rig = rig, sent: list[str] = sent) -> None:
                sent.append(message["type"])
                if message["type"] == "lifespan.startup.complete":
                    rig.org()
                    assert (await rig.execute(rig.run())).status == 200

            if entered:
                async with rig.platform.running():
                    await rig.app({"type": "lifespan"}, receive, collect)
                    assert (await rig.execute(rig.run())).status == 200
            else:
                await rig.app({"type": "lifespan"}, receive, collect)
            assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

    run_virtual(main)


@pytest.mark.parametrize("what", ["call", "turn"])
def test_a_stop_answers_who_still_waits(what: str, tmp_path: Path) -> None:
    """No row stays open and no run active because of a stop."""

    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, on_file(tmp_path))
        async with rig.platform.running():
            rig.org()
            rig.strangers.third = rig.strangers.agent = lambda _: asyncio.sleep(3_000)
            coming = rig.execute(rig.run()) if what == "call" else rig.chat({"text": "x"})
            task = asyncio.ensure_future(coming)
            await asyncio.sleep(1)
        answer = await task
        assert (answer.status, answer.code) == (503, "PLATFORM_STOPPING")
        assert loop.time() < 3
        after = Rig(loop, on_file(tmp_path))
        after.platform._database.open()
        assert after.outcomes() == (["PLATFORM_STOPPING"] if what == "call" else [])
        if what == "turn":
            assert after.platform.runs.of_org("org-a")[0].state == "finished"

    run_virtual(main)


def test_after_the_stop_nothing_is_done() -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop)
        async with rig.platform.running():
            rig.org()
            run_id = rig.run()
        assert (await rig.execute(run_id)).code == "STORE_UNAVAILABLE"
        assert rig.third_asked == []

    run_virtual(main)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", EXECUTE_PATH, 405),
        ("PUT", EXECUTE_PATH, 405),
        ("POST", EXECUTE_PATH + "/", 404),
        ("POST", "/v1/conversations/c-1/messages/", 404),
        ("POST", "/v1/conversations//messages", 404),
        ("GET", "/", 404),
        ("DELETE", "/v1/admin/registry", 405),
        ("BREW", "/v1/consultations", 405),
    ],
)
def test_other_paths_and_methods(method: str, path: str, status: int) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.send(method, path, INTERNAL)
        assert answer.status == status
        assert set(answer.json) == {"code", "message"}
        assert "location" not in dict(answer.headers)

    with_platform(body)


def test_same_seed_same_everything() -> None:
    def story() -> list[Any]:
        told: list[Any] = []

        async def body(rig: Rig) -> None:
            answers = [await rig.chat({"text": "x", "skill": "help"}), await rig.execute(rig.run())]
            told.extend([*(answer.whole for answer in answers), rig.strangers.agent_asked, rig.rows()])

        with_platform(body)
        return told

    assert story() == story()


def test_no_secret_in_any_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def body(rig: Rig) -> None:
        token = rig.token()
        await rig.chat({"text": "x", "skill": "help"})
        await rig.execute(rig.run(), input={"x": SECRET})
        await rig.execute(rig.run(), headers={"authorization": f"Bearer {token}"})
        await rig.execute("x", headers={"authorization": "Bearer wrong", "x-agent-secret": SECRET + "x"})
        rig.strangers.third = lambda _: httpx.ConnectError(f"says {SECRET}")
        await rig.execute(rig.run())
        rig.platform._database.close()
        await rig.execute(rig.run.__name__, input={"x": SECRET})
        for secret in (SECRET, JWT_KEY, ADMIN, token, "chat-token-of-org-a"):
            assert secret not in caplog.text

    with_platform(body)


def test_what_the_platform_must_never_write_down() -> None:
    config = GatewayConfig.from_env(
        {**ENVIRON, "DATABASE_URL": "postgresql+psycopg://u:db-password@h/n"}, identity_dir=Path("/nowhere")
    )
    assert set(module.own_secrets(config)) == {SECRET, ADMIN, JWT_KEY, "db-password"}
    assert module.own_secrets(GatewayConfig.from_env({}, identity_dir=Path("/nowhere"))) == []


def test_over_real_sockets(tmp_path: Path) -> None:
    """64 at once, a header of 60 KB, headers beyond the server's limit, a body over 1 MiB: none is 5xx."""

    async def main() -> None:
        strangers = Strangers()
        strangers.third = lambda asked: httpx.Response(200, json=asked.json)
        config = GatewayConfig.from_env({**ENVIRON, **on_file(tmp_path)}, identity_dir=tmp_path)
        platform = Platform(config, clock=SystemClock(), entropy=SystemEntropy(), transport=strangers)
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(platform.app, http="h11", lifespan="off", log_level="error"))
        async with platform.running():
            platform.catalogue.put_org("org-a", ORG)
            metadata = {"runtimeManifest": {"allowedTools": [READ]}}
            run_id = platform.runs.create_run("org-a", "c-1", metadata).id
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            async with httpx.AsyncClient(base_url=url, verify=False, trust_env=False, timeout=60) as client:

                def call(n: int, **more: Any) -> Any:
                    named = {"orgId": "org-a", "runId": run_id, "toolName": "order_lookup", "action": "lookup"}
                    body = json.dumps({**named, "input": {"n": n, **more}})
                    return client.post(EXECUTE_PATH, content=body, headers=INTERNAL)

                answers = await asyncio.gather(*(call(n) for n in range(64)))
                assert [answer.json()["result"] for answer in answers] == [{"n": n} for n in range(64)]
                long = await client.post(EXECUTE_PATH, content=b"{}", headers={"x-agent-secret": "x" * 60_000})
                assert long.status_code == 401
                # The server may hang up before all of it was sent.
                with suppress(httpx.ReadError, httpx.WriteError):
                    longer = await client.post(EXECUTE_PATH, content=b"{}", headers={"x-agent-secret": "x" * 200_000})
                    assert longer.status_code in (400, 431)
                assert (await call(1, x="x" * 1_100_000)).status_code == 413
                assert (await call(1, x="x" * 4_000_000)).status_code == 413
                assert (await call(7)).json() == {"ok": True, "result": {"n": 7}}
            server.should_exit = True
            await serving

    asyncio.run(main())


def test_two_worlds_do_not_meet() -> None:
    """Nothing of a platform is kept in the process: another one knows none of it."""

    async def main(loop: VirtualLoop) -> None:
        first, second = Rig(loop), Rig(loop)
        async with first.platform.running(), second.platform.running():
            first.org()
            second.platform.catalogue.put_tools({})
            assert (await second.chat({"text": "x"})).status == 401
            assert (await first.execute(first.run())).status == 200

    run_virtual(main)
