"""An agent that is told to stop in the middle of a turn: the caller is told, and the program behind it is ended."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lasttick.targets.gateway.stopping import Stoppable


class Behind:
    """Answers `begins` at once, then waits for ever; `let_go` once it was cancelled."""

    def __init__(self, *, begins: bool = False, fails: bool = False) -> None:
        self.let_go = False
        self._begins = begins
        self._fails = fails

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._fails:
            raise ValueError("a fault of its own")
        if self._begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            await asyncio.Event().wait()
        finally:
            self.let_go = True


async def begun(app: Stoppable) -> tuple[asyncio.Task[None], list[Any]]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    task = asyncio.create_task(app({}, None, send))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task, sent


def test_an_open_turn_is_let_go_and_answered() -> None:
    async def main() -> None:
        behind = Behind()
        app = Stoppable(behind)
        (one, sent), (two, _) = await begun(app), await begun(app)
        await app.stop()
        await asyncio.gather(one, two)
        assert behind.let_go
        assert sent[0]["status"] == 503
        assert json.loads(sent[1]["body"])["code"] == "AGENT_STOPPING"

    asyncio.run(main())


def test_an_answer_that_has_begun_breaks_off() -> None:
    async def main() -> None:
        app = Stoppable(Behind(begins=True))
        task, sent = await begun(app)
        await app.stop()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [message["type"] for message in sent] == ["http.response.start"]

    asyncio.run(main())


@pytest.mark.parametrize("stopped", [False, True])
def test_a_server_that_cancels_cancels(stopped: bool) -> None:
    async def main() -> None:
        behind = Behind()
        app = Stoppable(behind)
        task, sent = await begun(app)
        task.cancel()
        if stopped:
            app._stopped = True
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert (behind.let_go, sent) == (True, [])

    asyncio.run(main())


def test_faults_go_through_and_an_idle_agent_stops_at_once() -> None:
    async def main() -> None:
        app = Stoppable(Behind(fails=True))
        task, _ = await begun(app)
        with pytest.raises(ValueError, match="a fault of its own"):
            await task
        await app.stop()

    asyncio.run(main())
