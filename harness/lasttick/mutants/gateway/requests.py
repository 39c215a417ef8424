"""Wrong versions of what becomes of a request that is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.trust import Admitted
from lasttick.mutants import Mutant
from lasttick.reference.gateway import http_json, tools
from lasttick.reference.gateway.guard import RunnerTokenGuard
from lasttick.reference.gateway.http_json import Refused

REQUESTS = "gateway/requests/"


def refused_unread(refusal: Any) -> Callable[[Any], Callable[..., Any]]:
    """A body that can not be read is answered before anybody looks who sends it."""

    def wrong(right: Any) -> Callable[..., Any]:
        async def _answer(self: RunnerTokenGuard, headers: Any, content: bytes) -> Any:
            if http_json.parse_object(content) is None:
                raise Refused(refusal)
            return await right(self, headers, content)

        return _answer

    return wrong


async def whole_body(receive: Any) -> bytes:
    """However long it is."""
    chunks: list[bytes] = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


def shorter_bodies(right: Any) -> Callable[..., Any]:
    """The longest body that is allowed is already too long."""

    async def read_body(receive: Any) -> bytes:
        body: bytes = await right(receive)
        if len(body) == http_json.BODY_MAX:
            raise Refused(http_json.TOO_LARGE)
        return body

    return read_body


def as_wanted(right: Any) -> Callable[..., Any]:
    """A field of another type becomes one of the type that is wanted."""

    def read_call(admitted: Admitted, body: Mapping[str, Any]) -> Any:
        texts = {name: str(body.get(name)) for name in ("runId", "toolName", "action")}
        given = body.get("input")
        return right(admitted, {**body, **texts, "input": given if isinstance(given, dict) else {}})

    return read_call


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/bad-body-before-the-doors",
        breaks="GW-02",
        text="a body that can not be read is 400 to everybody, so a stranger learns that somebody is at home",
        killed_by=REQUESTS + "a-body-that-is-none-is-judged-only-behind-a-door[not JSON]",
        patch=lambda seam: seam.wrap(RunnerTokenGuard, "_answer", refused_unread(http_json.NOT_JSON)),
    ),
    Mutant(
        "gateway/bad-body-closes-both-doors",
        breaks="GW-03",
        text="a body that can not be read is 401 to everybody, so a runner looks for the error in its token",
        killed_by=REQUESTS + "a-body-that-is-none-is-judged-only-behind-a-door[not JSON]",
        patch=lambda seam: seam.wrap(RunnerTokenGuard, "_answer", refused_unread(http_json.UNAUTHENTICATED)),
    ),
    Mutant(
        "gateway/body-of-any-length",
        breaks="GW-03",
        text="a body is taken in however long it is",
        killed_by=REQUESTS + "a-body-over-a-mebibyte-is-too-large[1]",
        patch=lambda seam: seam.replace(http_json, "read_body", whole_body),
    ),
    Mutant(
        "gateway/longest-body-is-too-long",
        breaks="GW-03",
        text="a body of exactly 1 MiB is refused",
        killed_by=REQUESTS + "a-body-over-a-mebibyte-is-too-large[0]",
        patch=lambda seam: seam.wrap(http_json, "read_body", shorter_bodies),
    ),
    Mutant(
        "gateway/fields-of-any-type",
        breaks="GW-03",
        text="a field of another type is made to fit: the number 7 is looked up as a run, a text is no input",
        killed_by=REQUESTS + "a-call-of-the-wrong-shape-is-400-and-leaves-no-row[parts0]",
        patch=lambda seam: seam.wrap(tools, "read_call", as_wanted),
    ),
]
