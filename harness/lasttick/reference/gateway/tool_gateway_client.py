"""How does a tool call leave the agent's container? One bounded request to the platform, and a result or a code.

With `AGENT_SERVICE_SECRET` it is sent twice: `X-Agent-Secret` opens the gateway's internal door, and the bearer is what
every other surface of the platform asks for (ruling 1). Without it there is only a bearer, which is never put into the
header of the secret. The request goes to the one origin that is configured: a redirect is not followed, since whoever
answers it would be handed the secret (GW-14). Whatever comes back, nothing of it that holds the credential goes on.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import httpx

from lasttick.model import secret_fence
from lasttick.model.errors import shown
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.platform_auth import platform_api_token, setting
from lasttick.reference.gateway.redaction import disguises, leaves
from lasttick.reference.hostagent.config import is_http_url

EXECUTE_PATH = "/v1/runtime/tools/execute"
CALL_S = 28.0
"""One whole call. The MCP server answers within 30 s, however slow the gateway is (GW-18)."""
CONNECT_S = 5.0
FOLLOW_REDIRECTS = False
ANSWER_BYTES_MAX = 4 * http_json.BODY_MAX
"""The gateway takes a third party's answer up to `BODY_MAX` and escapes it to ASCII, which makes it three times as
long at most."""
MESSAGE_MAX = 500
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_WHERE = "(contract gateway, tool_gateway_client)"


class ToolFailed(Exception):
    """A call without a result. `code` is the gateway's own, or one of ours when the gateway was not heard."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class ToolGatewayClient:
    """The gateway, for the run that `environ` names. Whoever makes it closes it.

    `transport`: how the gateway is reached, httpx's own when None.
    """

    def __init__(self, environ: Mapping[str, str], *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._environ = environ
        self._http = httpx.AsyncClient(
            transport=transport,
            # Each step is bounded by the whole: a gateway that drips bytes would keep every bound of one step.
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "lasttick-humanwork"},
            follow_redirects=FOLLOW_REDIRECTS,
            trust_env=False,
        )

    async def execute(self, tool_name: str, action: str, input: Mapping[str, Any]) -> Any:
        """The result of one call, JSON-able. Raises ToolFailed, after `CALL_S` seconds at the latest."""
        request = self._request(tool_name, action, input)
        try:
            async with asyncio.timeout(CALL_S):
                status, content = await self._answer(request)
        except (TimeoutError, httpx.TimeoutException):
            raise _failed("GATEWAY_TIMEOUT", "the gateway did not answer in time", "an answer", "try later") from None
        # Their messages may quote the request, so none goes on.
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            raise _failed("GATEWAY_UNREACHABLE", "the gateway is not reached", "an answer", "try later") from None
        # One deeper than what the gateway takes, since it wraps the result.
        answer = None if content is None else http_json.parse_object(content, http_json.DEPTH_MAX + 1)
        if answer is not None and self._holds_credential(answer):
            raise _failed("GATEWAY_GARBAGE", "the gateway's answer repeats a credential", "a result", "report it")
        if status == 200 and answer is not None and answer.get("ok") is True and "result" in answer:
            return answer["result"]
        raise _refused(status, answer)

    async def aclose(self) -> None:
        await self._http.aclose()

    def _request(self, tool_name: str, action: str, input: Mapping[str, Any]) -> httpx.Request:
        """Raises ToolFailed: nothing is sent that the gateway could only refuse, or that may not be sent at all."""
        url = setting(self._environ, secret_fence.PLATFORM_URL)
        if url is None or not is_http_url(url):
            raise _failed("GATEWAY_NOT_CONFIGURED", f"{secret_fence.PLATFORM_URL} is no URL", "the platform's", _ASK)
        named = {name: setting(self._environ, name) for name in (secret_fence.ORG_ID, secret_fence.RUN_ID)}
        for name, value in named.items():
            if value is None:
                raise _failed("RUN_NOT_CONFIGURED", f"{name} is not set", "the turn's run", _ASK)
        headers = credentials(self._environ)
        if not headers:
            raise _failed("CREDENTIAL_NOT_CONFIGURED", "there is no credential for the gateway", "one", _ASK)
        if not can_be_sent(headers):
            raise _failed(
                "CREDENTIAL_UNUSABLE", "the credential for the gateway can not be sent", "printable ASCII", _ASK
            )
        body = {
            "orgId": named[secret_fence.ORG_ID],
            "runId": named[secret_fence.RUN_ID],
            "toolName": tool_name,
            "action": action,
            "input": dict(input),
        }
        try:
            content = json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")
        except (TypeError, ValueError, RecursionError):
            raise _failed("BAD_ARGUMENTS", "the arguments are no JSON", "an object", "correct them") from None
        headers["content-type"] = "application/json"
        return self._http.build_request("POST", url.rstrip("/") + EXECUTE_PATH, content=content, headers=headers)

    async def _answer(self, request: httpx.Request) -> tuple[int, bytes | None]:
        """Status and body; None for one that is too long, or packed although nobody asked for that."""
        answer = await self._http.send(request, stream=True)
        try:
            if answer.headers.get("content-encoding", "identity") != "identity":
                return answer.status_code, None
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > ANSWER_BYTES_MAX:
                    return answer.status_code, None
            return answer.status_code, bytes(content)
        finally:
            await answer.aclose()

    def _holds_credential(self, answer: Mapping[str, Any]) -> bool:
        text = "\n".join(leaves(answer))
        sent = credentials(self._environ)["authorization"].removeprefix("Bearer ")
        return any(needle in text for needle in disguises(sent))


def credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers that say who we are; none when nothing is configured."""
    secret = setting(environ, secret_fence.AGENT_SECRET)
    if secret is not None:
        return {"x-agent-secret": secret, "authorization": f"Bearer {secret}"}
    token = platform_api_token(environ)
    return {} if token is None else {"authorization": f"Bearer {token}"}


def can_be_sent(headers: Mapping[str, str]) -> bool:
    """Printable ASCII without outer blanks: a line break would end the header and start one of a stranger's choice."""
    return all(_HEADER_VALUE.fullmatch(value) for value in headers.values())


_ASK = "tell whoever runs the agent"


def _failed(code: str, happened: str, expected: str, do: str) -> ToolFailed:
    return ToolFailed(code, f"{happened}; expected {expected} {_WHERE}; {do}")


def _refused(status: int, answer: Mapping[str, Any] | None) -> ToolFailed:
    """The gateway's own code and words, if they are that; of anything else only the HTTP status."""
    code, message = (None, None) if answer is None else (answer.get("code"), answer.get("message"))
    if status >= 400 and isinstance(code, str) and _CODE.fullmatch(code) and isinstance(message, str):
        return ToolFailed(code, shown(message, MESSAGE_MAX))
    if 300 <= status < 400:
        return _failed("GATEWAY_REDIRECTS", f"the gateway answered HTTP {status}", "an answer of its own", _ASK)
    name = "GATEWAY_ERROR" if status >= 400 else "GATEWAY_GARBAGE"
    return _failed(name, f"the gateway's answer, HTTP {status}, can not be read", "a result or a code", "try later")
