"""Was the work handed over? The answer to a claim: waits, sends, and only then counts the assignment as delivered.

It gives the offer back when the connection was dropped before it sent, when sending fails, or when the request is
cancelled. It cannot see an answer that was sent and lost on the road.
"""

from __future__ import annotations

import asyncio
import json

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lasttick_fakes.cloud.control import Cloud
from lasttick_fakes.cloud.polls import Poll
from lasttick_fakes.cloud.problem import not_reachable


class LongPoll(Response):
    """200 with one assignment, 204 after `wait_s` without one, 503 when the cloud went down meanwhile."""

    def __init__(self, cloud: Cloud, host_id: str, wait_s: float) -> None:
        self.cloud = cloud
        self.host_id = host_id
        self.wait_s = wait_s
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        poll = self.cloud.poll(self.host_id)
        if self.wait_s == 0:
            poll.resolve(None)
        helpers = [] if not poll.waiting else [self._time_out(poll), self._watch(poll, receive)]
        tasks = [asyncio.create_task(helper) for helper in helpers]
        try:
            assignment = await poll.answer
            # Stop watching before sending: a finished answer also looks like a disconnect to `receive`.
            for task in tasks:
                task.cancel()
            if poll.gone or hung_up(receive):
                return
            if poll.closed_by_cloud or (assignment is not None and assignment.state != "offered"):
                await _send(send, 503, json.dumps(not_reachable("it stopped").body()).encode())
            elif assignment is None:
                await _send(send, 204, b"")
            else:
                work = self.cloud.task(assignment.task_id).work()
                answer = {
                    "assignment_id": assignment.assignment_id,
                    "task_id": assignment.task_id,
                    "device_id": assignment.device_id,
                    "attempt": assignment.attempt,
                    **work,
                }
                await _send(send, 200, json.dumps(answer).encode())
                self.cloud.delivered(assignment)
        except OSError:
            return  # the connection broke while the answer was sent: nobody is there to be told
        finally:
            for task in tasks:
                task.cancel()
            self.cloud.leave(poll)

    async def _time_out(self, poll: Poll) -> None:
        await self.cloud.clock.sleep(self.wait_s)
        poll.resolve(None)

    async def _watch(self, poll: Poll, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        poll.drop()


def hung_up(receive: Receive) -> bool:
    """Is the connection gone already? Looked up now, because a server swallows what is sent to a closed connection.

    `receive` is stepped by hand until it would wait: a watching task would learn of a hang-up only some turns of the
    event loop later, and what was sent in between would count as delivered.
    """
    while True:
        step = receive().__await__()
        try:
            next(step)
        except StopIteration as message:
            if message.value["type"] == "http.disconnect":
                return True
        else:
            step.close()
            return False


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [] if status == 204 else [(b"content-type", b"application/json")]
    if status != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
