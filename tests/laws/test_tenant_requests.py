"""A request of one tenant's that another asks about: green on who says that it is not there, red on who tells."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from lasttick.engine.loop import VirtualLoop
from lasttick.laws.deployment import Deployment

from .approval_service import KEYS, ApprovalService, deploy
from .playing import Ruled, all_laws, play

LAW = all_laws()["tools/tenant-isolated"]
WHAT = "bob's look at a request of alice's tenant"


class TellsMore(ApprovalService):
    """What another tenant asks about is answered with this status, and not like what is not there."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    async def outcome(self, request: Request) -> JSONResponse:
        one = self.asked.get(request.path_params["id"])
        if one is not None and KEYS[request.headers["x-key"]] == "rival":
            return JSONResponse({"state": one.state, "by": one.by}, self.status)
        return await super().outcome(request)


def of_another_tenant(text: str) -> str:
    """bob speaks with the key of somebody of the tenant blue."""
    bob = 'tenant = "red"\nheaders = { X-Key = "key-of-bob" }'
    assert bob in text
    return text.replace(bob, 'tenant = "blue"\nheaders = { X-Key = "key-of-rival" }')


def foreign_refused(text: str) -> str:
    return of_another_tenant(text) + '[tools]\nforeign = "refused"\n'


def judged(service: ApprovalService, edit: Callable[[str], str] = of_another_tenant) -> Ruled:
    async def deployed(loop: VirtualLoop) -> Deployment:
        return await deploy(loop, service, edit=edit)

    return play(LAW, deployed)


@pytest.mark.parametrize("blocks", [True, False], ids=["blocking", "polling"])
@pytest.mark.parametrize("edit", [of_another_tenant, foreign_refused], ids=["hidden", "refused"])
def test_who_says_that_it_is_not_there(blocks: bool, edit: Callable[[str], str]) -> None:
    ruled = judged(ApprovalService(blocks=blocks), edit)
    assert ruled == Ruled("pass", "", ("how a request of alice stands, by bob",))


def test_who_tells_how_it_stands_is_red() -> None:
    ruled = judged(TellsMore(200))
    assert ruled.word == "fail", ruled
    assert f"{WHAT} was answered ok" in ruled.reason


def test_who_refuses_it_otherwise_than_what_is_not_there_is_red() -> None:
    ruled = judged(TellsMore(403))
    assert ruled.word == "fail", ruled
    assert f"{WHAT} is not answered like one with what is not there" in ruled.reason
    assert judged(TellsMore(403), foreign_refused).word == "pass"


def test_without_somebody_of_another_tenant_nothing_is_shown() -> None:
    ruled = judged(ApprovalService(), lambda text: text)
    assert ruled.word == "not_applicable", ruled
