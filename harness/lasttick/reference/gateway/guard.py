"""May this request come in, and as whom? The RunnerTokenGuard in front of `/v1/runtime/tools/execute`.

Two doors. Ours first: `X-Agent-Secret` and the body's `orgId`. Whatever is missing or wrong there closes only that
door, and the bearer token is tried; if that fails too, 401. What the request says is judged only after a door opened:
a body that can not be read is 401 to a stranger and 400 to a runner. Source: contract gateway, "Parts", rulings 1, 6.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from lasttick.model import trust
from lasttick.model.trust import Admitted
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.http_json import ClientGone, Refused
from lasttick.reference.gateway.jwt_door import JwtDoor
from lasttick.reference.gateway.secret import AgentSecret

SECRET_HEADER = b"x-agent-secret"

Inner = Callable[[Admitted, dict[str, Any]], Awaitable[Response]]


class RunnerTokenGuard:
    """ASGI app around `inner`, which is called with who was admitted and the body, a JSON object."""

    def __init__(self, inner: Inner, *, secret: AgentSecret | None, jwt_door: JwtDoor) -> None:
        self._inner = inner
        self._secret = secret
        self._jwt_door = jwt_door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            answer = await self._answer(scope["headers"], await http_json.read_body(receive))
        except Refused as refused:
            answer = http_json.refusal_answer(refused.refusal)
        except ClientGone:
            return
        await answer(scope, receive, send)

    async def _answer(self, headers: list[tuple[bytes, bytes]], content: bytes) -> Response:
        body = http_json.parse_object(content)
        admitted = self.internal(headers, body) or self.runner(headers)
        if admitted is None:
            raise Refused(http_json.UNAUTHENTICATED)
        if body is None:
            raise Refused(http_json.NOT_JSON)
        return await self._inner(admitted, body)

    def internal(self, headers: list[tuple[bytes, bytes]], body: dict[str, Any] | None) -> Admitted | None:
        """The door of our own agent container. The bearer it also sends has no say here (ruling 1)."""
        return trust.internal_door(
            presented=http_json.header_values(headers, SECRET_HEADER),
            org_id=None if body is None else body.get("orgId"),
            matches=None if self._secret is None else self._secret.matches,
        )

    def runner(self, headers: list[tuple[bytes, bytes]]) -> Admitted | None:
        """The door of remote runners."""
        return self._jwt_door.admit(http_json.bearer(headers))
