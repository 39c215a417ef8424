"""The two fakes at the ends of a gateway, as a scenario uses them: over HTTP, the same in every mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from lasttick.targets.gateway.wire import Reply
from lasttick_fakes.model import Asked, Say, Script
from lasttick_fakes.model.script import Step, as_json
from lasttick_fakes.thirdparty.log import Seen

HELD_S = 1e6
Send = Callable[..., Awaitable[Reply]]


class ThirdPartyHandle:
    """The third party: its data, its own log, its trouble."""

    def __init__(self, send: Send, url: str) -> None:
        self._send = send
        self.url = url

    async def put_order(self, order_id: str, **fields: Any) -> None:
        await self._ask("PUT", f"/data/orders/{order_id}", fields)

    async def put_product(self, product_id: str, **fields: Any) -> None:
        await self._ask("PUT", f"/data/products/{product_id}", fields)

    async def order(self, order_id: str) -> dict[str, Any]:
        """The order as it is now: with `"refunded": true` after a refund."""
        return await self._ask("GET", f"/data/orders/{order_id}")

    async def log(self, after: int = 0) -> list[Seen]:
        """The requests of the business side that arrived, in order."""
        lines = (await self._ask("GET", f"/log?after={after}"))["log"]
        return [Seen(**{**line, "headers": tuple((name, value) for name, value in line["headers"])}) for line in lines]

    async def trouble(self, kind: str, **options: Any) -> None:
        """slow, down, 5xx or garbage; options: fields of `lasttick_fakes.thirdparty.Trouble`."""
        await self._ask("POST", "/trouble", {"kind": kind, **options})

    async def heal(self) -> None:
        await self._ask("POST", "/trouble", {"kind": "heal"})

    async def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = await self._send(method, self.url + path, body)
        assert answer.ok, f"the third party answered {method} {path} with HTTP {answer.http_status}: {answer.body}"
        return dict(answer.body)


class ModelHandle:
    """The model: what it says, and what it was asked."""

    def __init__(self, send: Send, url: str) -> None:
        self._send = send
        self.url = url

    async def script(self, word: str, *steps: Step | str) -> None:
        """Say this from now on to prompts with `word` in them (`*`: to all others). A text is a `Say`."""
        told = Script(word, tuple(Say(step) if isinstance(step, str) else step for step in steps))
        answer = await self._send("PUT", f"{self.url}/scripts", as_json(told))
        assert answer.ok, f"the model refused the script: HTTP {answer.http_status}: {answer.body}"

    async def hold(self, word: str) -> None:
        """A turn with `word` in its prompt lasts as long as the world, unless somebody ends it."""
        await self.script(word, Say("Done.", after_s=HELD_S))

    async def requests(self, after: int = 0) -> list[Asked]:
        """The chat requests it got, in order (`raw` is empty here)."""
        answer = await self._send("GET", f"{self.url}/requests?after={after}")
        names = ("seq", "t_ns", "authorization", "body")
        return [Asked(raw=b"", **{name: line[name] for name in names}) for line in answer.body["requests"]]
