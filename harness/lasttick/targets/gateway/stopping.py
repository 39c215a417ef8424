"""What becomes of a turn that is open when the agent is told to stop? It is let go, and its caller is told so.

A server that cancels a handler leaves its caller with a broken connection and its log with a traceback.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

LET_GO_S = 3.0
"""What an agent program may take to end."""
ANSWER = {
    "code": "AGENT_STOPPING",
    "message": "the agent is stopping, and the turn was let go; expected an agent that stays; send the message again",
}


class Stoppable:
    """ASGI app around `app`, whose requests `stop` ends."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._open: dict[asyncio.Task[None], None] = {}
        self._stopped = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun = False

        async def sending(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        work = asyncio.create_task(self._app(scope, receive, sending))
        self._open[work] = None
        try:
            await work
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if not self._stopped or begun or (waiter is not None and waiter.cancelling()):
                work.cancel()
                raise
            await _refuse(send)
        finally:
            del self._open[work]

    async def stop(self) -> None:
        """Let go of everything that is open."""
        self._stopped = True
        left = list(self._open)
        for work in left:
            work.cancel()
        if left:
            await asyncio.wait(left, timeout=LET_GO_S)


async def _refuse(send: Any) -> None:
    content = json.dumps(ANSWER).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": content})
