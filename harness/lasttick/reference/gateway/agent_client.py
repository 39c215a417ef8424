"""How does the platform hand a turn to the agent? One request in snake_case, bounded, and the answer's text.

The agent is asked with the secret that both share, in the header and as bearer, as it asks us (ruling 1).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx

from lasttick.model.tool_call import Refusal
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.secret import AgentSecret

CONNECT_S = 5.0
CHAT_PATH = "/v1/chat"


class AgentClient:
    """The agent at a URL. Whoever makes it closes it."""

    def __init__(
        self,
        url: str | None,
        *,
        secret: AgentSecret | None,
        transport: httpx.AsyncBaseTransport | None,
        timeout_s: float,
    ) -> None:
        self._url = None if url is None else url.rstrip("/") + CHAT_PATH
        self._secret = secret
        self._timeout_s = timeout_s
        self._http = httpx.AsyncClient(
            transport=transport,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            follow_redirects=False,
            trust_env=False,
        )

    async def chat(self, wire: Mapping[str, Any]) -> str:
        """One turn. Raises Refused with a code `AGENT_*` (502, 503, 504)."""
        if self._url is None:
            raise _failed(503, "AGENT_UNREACHABLE", "no agent is configured")
        headers = {"content-type": "application/json"}
        if self._secret is not None:
            value = self._secret.header_value()
            if value is None:
                raise _failed(502, "AGENT_UNREACHABLE", "AGENT_SERVICE_SECRET is nothing that a header can carry")
            headers["x-agent-secret"] = value
            headers["authorization"] = f"Bearer {value}"
        content = json.dumps(wire, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._http.post(self._url, content=content, headers=headers)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _failed(504, "AGENT_TIMEOUT", "the agent did not answer in time") from error
        except httpx.HTTPError as error:
            raise _failed(502, "AGENT_UNREACHABLE", "the agent can not be reached") from error
        if answer.status_code != 200:
            raise _failed(502, "AGENT_ERROR", f"the agent answered HTTP {answer.status_code}")
        body = http_json.parse_object(answer.content)
        text = None if body is None else body.get("answer")
        if not isinstance(text, str):
            raise _failed(502, "AGENT_ERROR", "the agent's answer can not be read")
        return text

    async def aclose(self) -> None:
        await self._http.aclose()


def _failed(status: int, code: str, happened: str) -> Refused:
    expected = 'expected 200 and {"answer": text} (contract gateway, wire)'
    return Refused(Refusal(status, code, f"{happened}; {expected}; look at the agent, then send the message again"))
