"""How does an answer break off? Its head, some of its body, and no more: a server closes such a connection."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response


class Broken(Response):
    """`part` of a body of which `promised` bytes were announced."""

    def __init__(self, part: bytes = b"", promised: int = 100) -> None:
        super().__init__(media_type="application/json", headers={"content-length": str(promised)})
        self._part = part

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._part:
            await send({"type": "http.response.body", "body": self._part, "more_body": True})


def half_of(response: Response) -> Broken:
    whole = bytes(response.body)
    return Broken(whole[: len(whole) // 2], len(whole))
