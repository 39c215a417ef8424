"""What does the host agent say to the cloud, and what can come back?

Four requests over HTTP; every failure is a CloudError with a readable message, so that the loops above decide about
trying again and nothing else. Source: contract world, "Cloud wire"; HA-08, HA-09.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import httpx

REQUEST_S = 10.0
Status = Literal["succeeded", "failed"]


class CloudError(Exception):
    """The cloud could not be asked, or its answer is of no use. Trying again later may help."""


class CloudRefused(CloudError):
    """The cloud answered with a client error (4xx): the same request will be refused again."""


class HostUnknown(CloudRefused):
    """The cloud does not know this host (it was restarted): register again."""


class CloudClient:
    """One cloud at a URL. `aclose` when done.

    `request_s` bounds each request, for a long poll on top of its waiting time; the loop's time, not the sockets'.
    """

    def __init__(
        self, url: str, *, transport: httpx.AsyncBaseTransport | None = None, request_s: float = REQUEST_S
    ) -> None:
        self._http = httpx.AsyncClient(base_url=url, transport=transport, timeout=None, trust_env=False)
        self._request_s = request_s

    async def register(self, host_id: str, devices: Sequence[Mapping[str, Any]]) -> None:
        """Make this host known, with its devices. Raises CloudError."""
        await self._send("POST", "/v1/hosts", {"host_id": host_id, "devices": list(devices)})

    async def heartbeat(self, host_id: str, body: Mapping[str, Any]) -> int | None:
        """One heartbeat, `{seq, devices, mcp_busy_device_ids}`. Raises HostUnknown or another CloudError.

        None when it was taken, or when the cloud does not say; else the number of the later one that the cloud has.
        """
        answer = await self._send("POST", f"{_host(host_id)}/heartbeat", body, unknown=HostUnknown)
        return last_seq(answer.content)

    async def claim(self, host_id: str, wait_s: int) -> Mapping[str, Any] | None:
        """Wait up to `wait_s` seconds for an assignment; None when there was none. Raises HostUnknown or CloudError."""
        answer = await self._send(
            "GET", f"{_host(host_id)}/assignments", query={"wait_s": wait_s}, unknown=HostUnknown, wait_s=wait_s
        )
        if answer.status_code == 204:
            return None
        try:
            assignment = answer.json()
        except ValueError as error:
            raise CloudError("the cloud's assignment is not JSON") from error
        if not isinstance(assignment, dict):
            raise CloudError("the cloud's assignment is not a JSON object")
        return assignment

    async def report(self, assignment_id: str, status: Status, failure_reason: str | None) -> None:
        """Report how an assignment ended. Raises CloudError."""
        path = f"/v1/assignments/{quote(assignment_id, safe='')}/result"
        await self._send("POST", path, {"status": status, "failure_reason": failure_reason})

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        unknown: type[CloudRefused] = CloudRefused,
        wait_s: float = 0.0,
    ) -> httpx.Response:
        try:
            async with asyncio.timeout(wait_s + self._request_s):
                answer = await self._http.request(method, path, json=body, params=query)
        except TimeoutError as error:
            raise CloudError(f"the cloud did not answer {method} {path} in {wait_s + self._request_s:g} s") from error
        except httpx.HTTPError as error:
            raise CloudError(f"the cloud cannot be reached: {str(error) or type(error).__name__}") from error
        if answer.status_code // 100 == 2:
            return answer
        message = f"the cloud answered {method} {path} with HTTP {answer.status_code}"
        if answer.status_code == 404:
            raise unknown(message)
        raise CloudRefused(message) if answer.status_code // 100 == 4 else CloudError(message)


def last_seq(body: bytes) -> int | None:
    """`last_seq` of an answer `{"taken": false, "last_seq": n}`; None for every other one."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("taken") is not False:
        return None
    seq = said.get("last_seq")
    return seq if type(seq) is int else None


def _host(host_id: str) -> str:
    return f"/v1/hosts/{quote(host_id, safe='')}"
