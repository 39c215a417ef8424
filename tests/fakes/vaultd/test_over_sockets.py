"""Is the vault the same behind a real server, over TCP and over a Unix socket?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
import uvicorn

from lasttick.engine.clock import SystemClock
from lasttick_fakes.vaultd import Trouble, VaultDaemon

AGENT = {"authorization": "Bearer vc-agent"}
PERSON = {"authorization": "Bearer vc-approver"}


@pytest.mark.parametrize("unix", [False, True])
def test_it_asks_runs_once_breaks_off_and_answers_again(tmp_path: Path, unix: bool) -> None:
    async def main() -> None:
        vault = VaultDaemon(SystemClock())
        where = {"uds": str(tmp_path / "v.sock")} if unix else {"port": 0}
        server = uvicorn.Server(uvicorn.Config(vault, log_level="critical", lifespan="off", **where))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        if unix:
            url, transport = "http://localhost", httpx.AsyncHTTPTransport(uds=where["uds"])
        else:
            port = server.servers[0].sockets[0].getsockname()[1]
            url, transport = f"http://127.0.0.1:{port}", httpx.AsyncHTTPTransport()
        async with httpx.AsyncClient(base_url=url, transport=transport, trust_env=False) as client:
            google = (await client.get("/v0/connectors/google", headers=AGENT)).json()
            body = {"connector_id": "google", "verb": "google.gmail.messages.send", "request": {"to": ["a@b"]}}
            body["module_hash"] = google["policy_hash"]
            job = (await client.post("/v0/connectors/execute-job", json=body, headers=AGENT)).json()["job"]
            asked = job["pending_approval"]
            word = {**asked["challenge"], "pending_id": asked["pending_id"], "decision": "approve"}
            path = "/v0/connectors/approvals/decide"
            assert (await client.post(path, json=word, headers=AGENT)).status_code == 403
            assert (await client.post(path, json=word, headers=PERSON)).status_code == 200
            assert (await client.post(path, json=word, headers=PERSON)).status_code == 409
            after = (await client.get(f"/v0/jobs/{job['job_id']}", headers=AGENT)).json()["job"]
            assert after["status"] == "SUCCEEDED"
            assert len((await client.get("/effects")).json()["effects"]) == 1
            for kind in ("down", "half", "hang"):
                vault.trouble(Trouble(kind, count=1))
                with pytest.raises(httpx.TransportError):
                    await client.get("/v0/connectors", headers=AGENT, timeout=0.2)
            assert (await client.get("/v0/connectors/a%2Fb", headers=AGENT)).status_code == 404
            assert (await client.get("/v0/connectors", headers=AGENT)).status_code == 200
        server.should_exit = True
        await serving

    asyncio.run(main())
