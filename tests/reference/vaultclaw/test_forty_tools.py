"""All forty tools behind the whole surface, with whatever an agent may send them.

Source: contract vaultclaw 1, 3, 4; VC-01, VC-02, VC-16.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.envelope import CATEGORIES
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.program import VaultclawServer
from lasttick.reference.vaultclaw.tools import all_tools

from .core_rig import TOKEN, FakeVault

TOOLS = {tool.name: tool for tool in all_tools()}
EXECUTING = ("/v0/connectors/execute", "/v0/connectors/execute-job", "/v0/connectors/plans/execute")
LOCAL = ("cookbook", "recipe", "template", "catalog", "route")
WORDS = [
    "google.workspace",
    "1.3.0",
    "gmail_tpl_plan_send_email_v1",
    "..",
    "../x",
    "%2e",
    "JOB",
    "self",
    "http://x.test/i",
]
SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(max_size=12) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["steps", "kind", "job_id", "entries", "slot"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(TOOLS)))
    arguments: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(TOOLS[name].properties, JSON)))
    return name, arguments


def played(folder: Path, name: str, arguments: Any, *, session: bool = True) -> tuple[Any, FakeVault, list[str]]:
    """One call over HTTP to a server on this catalog; the vault refuses every validation and echoes the token."""
    vault, said = FakeVault(), list[str]()
    vault.answer = lambda request: httpx.Response(200, json={"valid": False, "echo": TOKEN, "items": [{"x": TOKEN}]})
    environ = {"ACCORDS_MCP_CATALOG_DIR": str(folder / "catalog")} | ({"VC_AGENT_TOKEN": TOKEN} if session else {})

    async def main(loop: VirtualLoop) -> Any:
        server = VaultclawServer(
            VaultclawConfig.from_env(environ, folder),
            clock=VirtualClock(loop),
            entropy=Chance(1),
            transports=lambda socket_path: vault,
            say=said.append,
        )
        await server.start()
        message = {"id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://mcp.test", timeout=None) as http:
            answer = await http.post("/mcp", content=json.dumps(message).encode())
        await server.stop()
        return answer.json()

    return run_virtual(main), vault, said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One catalog for all examples: it is seeded once, and must bear whatever was done to it before."""
    return tmp_path_factory.mktemp("forty")


def check(answer: Any, said: list[str]) -> None:
    """The envelope of every tool, whole and without the token, and nothing unforeseen behind it."""
    result = answer["result"]
    assert set(result) == {"structuredContent", "content"}
    envelope = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == envelope
    assert set(envelope) == {"ok", "data", "error", "meta"}
    assert set(envelope["meta"]) - {"resolver"} == {"request_id", "vault_http_status", "vault_code"}
    error = envelope["error"]
    assert envelope["ok"] is (error is None)
    if error is not None:
        assert set(error) == {"code", "category", "message", "retryable", "vault_code", "details"}
        assert error["category"] == CATEGORIES[error["code"]]
        assert isinstance(error["details"], dict)
        assert envelope["data"] is None
    assert TOKEN not in json.dumps(answer)
    assert not [line for line in said if "failed inside" in line]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(call=calls())
def test_any_arguments_of_any_tool(folder: Path, call: tuple[str, dict[str, Any]]) -> None:
    """No traceback, no hang, no executing call: the plan of plan_execute is the caller's own word (contract 13)."""
    name, arguments = call
    answer, vault, said = played(folder, name, arguments)
    check(answer, said)
    executed = [call for call in vault.calls if call.removeprefix("POST ") in EXECUTING]
    assert not executed or name in ("vaultclaw_plan_execute", "vaultclaw_passport_email_workflow")


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_with_nothing_and_without_a_session(name: str, folder: Path) -> None:
    """First the tool's own required arguments, then the session; no call to the vault either way."""
    answer, vault, said = played(folder, name, {}, session=False)
    check(answer, said)
    assert vault.calls == []
    envelope = answer["result"]["structuredContent"]
    if TOOLS[name].required:
        assert envelope["ok"] is False
        assert envelope["error"]["code"] != "MCP_SESSION_NOT_CONFIGURED"
    elif not name.startswith(tuple(f"vaultclaw_{word}" for word in (*LOCAL, "session", "passport"))):
        assert envelope["error"]["code"] == "MCP_SESSION_NOT_CONFIGURED"
