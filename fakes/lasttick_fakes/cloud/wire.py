"""How do hosts and people reach the cloud? Its HTTP surface as an ASGI app; no rule is decided here.

| request | answer |
|---|---|
| `POST /v1/hosts {host_id?, devices}` | 201 `{host_id}` |
| `POST /v1/hosts/{id}/heartbeat {seq, devices, mcp_busy_device_ids?}` | 200 `{taken, last_seq?}`, 404 unknown host |
| `GET /v1/hosts/{id}/assignments?wait_s=20` | 200 one assignment, 204 none, 404 unknown host |
| `POST /v1/assignments/{id}/result {status, failure_reason}` | 200 `{assignment_id, state, task_id, task_state}`, 404 |
| `POST /v1/tasks {goal or workflow, device_id?, attempts}` | 201 the task |
| `GET /v1/tasks/{id}`, `GET /v1/hosts` | 200, 404 |
| `GET /v1/log?after=0` | 200 `{log: [{seq, t_ns, kind, data}], requests: [{t_ns, path, body_base64}]}` |
| `POST /v1/trouble {kind, count?, skip?, delay_s?, host_id?}` | 200; kinds: `trouble.py`, heal, stop, start, restart |

The last two rows are for tests that cannot reach into the process. Errors are `{error, expected, next}`, never a
traceback. No authentication: a host agent is given nothing but a URL (contract world, "Cloud wire"), so serve it on
loopback only.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

import lasttick_fakes.cloud.bodies as bodies
from lasttick_fakes.cloud.control import Cloud
from lasttick_fakes.cloud.longpoll import LongPoll
from lasttick_fakes.cloud.problem import Problem, not_reachable


def asgi(cloud: Cloud) -> Starlette:
    """The app over one cloud; any number of apps may share it."""
    wire = _Wire(cloud)
    routes = [
        Route("/v1/hosts", wire.register, methods=["POST"]),
        Route("/v1/hosts", wire.hosts, methods=["GET"]),
        Route("/v1/hosts/{host_id}/heartbeat", wire.heartbeat, methods=["POST"]),
        Route("/v1/hosts/{host_id}/assignments", wire.claim, methods=["GET"]),
        Route("/v1/assignments/{assignment_id}/result", wire.result, methods=["POST"]),
        Route("/v1/tasks", wire.submit, methods=["POST"]),
        Route("/v1/tasks/{task_id}", wire.task, methods=["GET"]),
        Route("/v1/log", wire.log, methods=["GET"]),
        Route("/v1/trouble", wire.trouble, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={Problem: _problem, HTTPException: _http_problem})


class _Wire:
    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    async def register(self, request: Request) -> Response:
        host_id, devices = bodies.registration(await self._body(request))
        return _json({"host_id": self.cloud.register(host_id, devices)}, 201)

    async def hosts(self, request: Request) -> Response:
        self._must_be_up()
        cloud = self.cloud
        return _json({"hosts": [cloud.host(host_id).as_json(cloud.is_lost(host_id)) for host_id in cloud.host_ids()]})

    async def heartbeat(self, request: Request) -> Response:
        heartbeat = bodies.heartbeat(await self._body(request))
        cloud, host_id = self.cloud, request.path_params["host_id"]
        cloud.host(host_id)
        trouble = cloud.meet_trouble(host_id)
        if trouble is None:
            taken = cloud.heartbeat(host_id, heartbeat)
            # Whose number is behind is told how far: a host that began anew may not know its earlier life's numbers.
            return _json({"taken": True} if taken else {"taken": False, "last_seq": cloud.host(host_id).seq})
        if trouble.kind in ("ignore", "refuse"):
            cloud.tell_heartbeat(host_id, heartbeat, False, trouble.kind)
            if trouble.kind == "refuse":
                raise not_reachable("heartbeat refused")
            return _json({"taken": True})
        if trouble.kind == "delay":
            await cloud.clock.sleep(trouble.delay_s)
            self._must_be_up()
        if trouble.kind != "late":
            cloud.heartbeat(host_id, heartbeat, trouble.kind)
        if trouble.kind != "delay":
            cloud.heartbeat_later(host_id, heartbeat, trouble.delay_s, trouble.kind)
        return _json({"taken": True})

    async def claim(self, request: Request) -> Response:
        self._must_be_up()
        wait_s = bodies.wait_s(request.query_params.get("wait_s"))
        self.cloud.host(request.path_params["host_id"])
        return LongPoll(self.cloud, request.path_params["host_id"], wait_s)

    async def result(self, request: Request) -> Response:
        status, reason = bodies.result(await self._body(request))
        done = self.cloud.result(request.path_params["assignment_id"], status, reason)
        task_state = self.cloud.task(done.task_id).state
        return _json(
            {
                "assignment_id": done.assignment_id,
                "state": done.state,
                "task_id": done.task_id,
                "task_state": task_state,
            }
        )

    async def submit(self, request: Request) -> Response:
        return _json(self.cloud.submit(**bodies.task(await self._body(request))).as_json(), 201)

    async def task(self, request: Request) -> Response:
        self._must_be_up()
        return _json(self.cloud.task(request.path_params["task_id"]).as_json())

    async def log(self, request: Request) -> Response:
        """Answers also while the cloud is down: it is the test's, not the hosts'."""
        after = request.query_params.get("after", "0")
        if not after.isdecimal():
            raise bodies.bad(f"after is {after[:40]!a}", "the seq of the last event already seen, or 0")
        events = [
            {"seq": event.seq, "t_ns": event.t_ns, "kind": event.kind, "data": event.data}
            for event in list(self.cloud.log)
            if event.seq > int(after)
        ]
        requests = [
            {"t_ns": received.t_ns, "path": received.path, "body_base64": base64.b64encode(received.body).decode()}
            for received in list(self.cloud.received)
        ]
        return _json({"log": events, "requests": requests})

    async def trouble(self, request: Request) -> Response:
        body = bodies.parse(await _read(request))
        control = {
            "heal": self.cloud.heal,
            "stop": self.cloud.stop,
            "start": self.cloud.start,
            "restart": self.cloud.restart,
        }
        kind = body.get("kind")
        if isinstance(kind, str) and kind in control and len(body) == 1:
            control[kind]()
        else:
            self.cloud.trouble(bodies.trouble(body))
        return _json({"ok": True})

    async def _body(self, request: Request) -> dict[str, Any]:
        """The body, kept as it came before anything judges it."""
        body = await _read(request)
        self.cloud.keep_request(request.url.path, body)
        self._must_be_up()
        return bodies.parse(body)

    def _must_be_up(self) -> None:
        if not self.cloud.up:
            raise not_reachable("it is stopped")


async def _read(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > bodies.BODY_BYTES_MAX:
                raise Problem(
                    413, f"the body is over {bodies.BODY_BYTES_MAX} bytes", "at most that many", "send less at once"
                )
            chunks.append(chunk)
    except ClientDisconnect:
        raise Problem(400, "the connection closed inside the body", "a whole body", "send it again") from None
    return b"".join(chunks)


def _json(value: Any, status: int = 200) -> Response:
    # Not Starlette's JSONResponse: it fails on lone surrogates, which JSON bodies may bring in.
    return Response(json.dumps(value), status, media_type="application/json")


async def _problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return _json(problem.body(), problem.status)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path[:120]}: {error.detail}"
    problem = Problem(error.status_code, what, "a path and method of the cloud wire", "see contract world, Cloud wire")
    response = _json(problem.body(), problem.status)
    response.headers.update(error.headers or {})
    return response
