"""How do operators set the platform up and look into it? The HTTP surface behind `PLATFORM_ADMIN_TOKEN`.

| request | answer |
|---|---|
| `PUT`, `GET /v1/admin/orgs/{org_id}` the organisation's document | 200 the document, 400, 404, 409 |
| `PUT`, `GET /v1/admin/registry` the registry | 200 the registry, 400 |
| `GET /v1/admin/runs?org_id=`, `GET /v1/admin/runs/{id}` | 200 `{runs: [...]}`, 200 the run, 404 |
| `POST /v1/admin/runs/{id}/finish` | 200 the run, 404 |
| `PUT /v1/admin/runs/{id}/manifest` `{allowedTools: [...]}` | 200 the run, 400, 404 |
| `GET /v1/admin/ledger?org_id=&after=SEQ` | 200 `{rows: [...]}` |

A document is replaced whole, and the answer to a GET of it is what was PUT, its tokens and credentials included.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick.model import trust
from lasttick.model.tool_call import Refusal
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.catalogue import INVALID, Catalogue
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.ledger import Ledger
from lasttick.reference.gateway.runs import Run, Runs
from lasttick.reference.gateway.secret import AdminToken

NOT_FOUND = Refusal(404, "NOT_FOUND", "nothing is stored here; expected an id that was given out or stored; store it")

Handler = Callable[[Request], Awaitable[Response]]


class AdminSurface:
    """Routes over the stores. `admin` None: nobody gets in."""

    def __init__(self, *, catalogue: Catalogue, runs: Runs, ledger: Ledger, admin: AdminToken | None) -> None:
        self._catalogue = catalogue
        self._runs = runs
        self._ledger = ledger
        self._admin = admin
        self.routes = [
            self._route("PUT", "/v1/admin/orgs/{org_id:path}", self.put_org),
            self._route("GET", "/v1/admin/orgs/{org_id:path}", self.get_org),
            self._route("PUT", "/v1/admin/registry", self.put_registry),
            self._route("GET", "/v1/admin/registry", self.get_registry),
            self._route("GET", "/v1/admin/runs", self.get_runs),
            self._route("GET", "/v1/admin/runs/{run_id}", self.get_run),
            self._route("POST", "/v1/admin/runs/{run_id}/finish", self.finish),
            self._route("PUT", "/v1/admin/runs/{run_id}/manifest", self.put_manifest),
            self._route("GET", "/v1/admin/ledger", self.get_ledger),
        ]

    async def put_org(self, request: Request) -> Response:
        org_id = _org_id(request.path_params["org_id"])
        document = await http_json.object_of(request)
        _stored(lambda: self._catalogue.put_org(org_id, document))
        return http_json.json_answer(200, document)

    async def get_org(self, request: Request) -> Response:
        document = self._catalogue.document(_org_id(request.path_params["org_id"]))
        if document is None:
            raise Refused(NOT_FOUND)
        return http_json.json_answer(200, document)

    async def put_registry(self, request: Request) -> Response:
        data = await http_json.object_of(request)
        _stored(lambda: self._catalogue.put_tools(data))
        return http_json.json_answer(200, data)

    async def get_registry(self, request: Request) -> Response:
        return http_json.json_answer(200, self._catalogue.tools().entries)

    async def get_runs(self, request: Request) -> Response:
        runs = self._runs.of_org(_org_id(request.query_params.get("org_id")))
        return http_json.json_answer(200, {"runs": [run.as_json() for run in runs]})

    async def get_run(self, request: Request) -> Response:
        return http_json.json_answer(200, self._run(request).as_json())

    async def finish(self, request: Request) -> Response:
        self._runs.finish(self._run(request).id)
        return http_json.json_answer(200, self._run(request).as_json())

    async def put_manifest(self, request: Request) -> Response:
        run = self._run(request)
        allowed = (await http_json.object_of(request)).get("allowedTools")
        if not isinstance(allowed, list) or not all(isinstance(pair, str) for pair in allowed):
            raise http_json.bad_request("`allowedTools` is no list of texts", "name:action texts, perhaps none")
        self._runs.set_allowed_tools(run, allowed)
        return http_json.json_answer(200, self._run(request).as_json())

    async def get_ledger(self, request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdecimal() and len(after) <= 18):
            raise http_json.bad_request("`after` is no number", "the `seq` of the last row already seen, or 0")
        rows = self._ledger.rows(_org_id(request.query_params.get("org_id")), int(after))
        return http_json.json_answer(200, {"rows": rows})

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        async def behind_the_door(request: Request) -> Response:
            token = http_json.bearer(request.headers.raw)
            if token is None or self._admin is None or not self._admin.matches(token):
                raise Refused(http_json.UNAUTHENTICATED)
            return await handler(request)

        return Route(path, behind_the_door, methods=[method])

    def _run(self, request: Request) -> Run:
        run = self._runs.by_id(request.path_params["run_id"])
        if run is None:
            raise Refused(NOT_FOUND)
        return run


def _org_id(given: Any) -> str:
    org_id = trust.usable_org_id(given)
    if org_id is None:
        raise http_json.bad_request("the organisation's id is none", "text that is not blank")
    return org_id


def _stored(store: Callable[[], None]) -> None:
    """An operator is told what is wrong with a document."""
    try:
        store()
    except INVALID as error:
        raise Refused(Refusal(400, "BAD_REQUEST", str(error))) from error
