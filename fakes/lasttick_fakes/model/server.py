"""How does an agent reach the model, and a test what the model was asked? An OpenAI-compatible server, scripted.

| request | answer |
|---|---|
| `POST /v1/chat/completions` | 200 what the script says, as events if `stream`; 400 when no script fits the prompt |
| `GET /v1/models` | 200 the one model; `GET /api/v1/models` is 404, as agents probe it |
| `GET /requests?after=SEQ` | 200 `{"requests": [{seq, t_ns, authorization, tools, helper, body}]}` |
| `GET /offered?prompt=TEXT&wait_s=S` | 200 `{seq, tools: [{name, short}]}` of the newest request so prompted; 404 |
| `PUT /scripts` a script (`script.py`) | 200; it replaces the one with the same word; the word `*` fits every prompt |
| `POST /reset` | 200; no scripts, no requests |

Errors are `{"error": {"message", "type"}}`. A prompt is found by a text in it, and waited for up to `wait_s`. `short`
is what stands behind the last `__` of a tool's name: agents put their server's name before what a server calls its
tools, and a server its own groups before that.

Fidelity. Models: the request and answer bytes that the real agent exchanges with such a server, streamed or whole,
tool calls, reasoning, helper requests that use up no step (and have scripts of their own), slowness at the start and
between the pieces of a stream. Does not model: a mind (it obeys its script,
whatever a tool result tells it to do), token counts, rate limits, keys (it takes any, and records it). It
fails closed: a prompt for which there is no script is refused. Shown against an agent by tests/fakes/model and
tests/fakes/hermes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from lasttick.ports import Clock
from lasttick_fakes.http_json import HANDLERS, Refused, after_seq, answer, parse_object, read_body, shown
from lasttick_fakes.model import wire
from lasttick_fakes.model.record import Asked
from lasttick_fakes.model.script import (
    BadScript,
    Call,
    Say,
    Script,
    Step,
    Turn,
    asked_with,
    chosen,
    offered_name,
    parse_script,
    spoken,
    turn_of,
)

MODEL = "scripted-model"
HELPER_ANSWER = "A conversation"
REQUEST_BYTES_MAX = 16 << 20
NS_PER_S = 1_000_000_000
LOOK_EVERY_S = 0.05
WAIT_S_MAX = 60


class FakeModel:
    """An ASGI app. `on_event("model.request", data)` hears every chat request, for a trace."""

    def __init__(
        self,
        clock: Clock,
        scripts: Iterable[Script] = (),
        on_event: Callable[[str, dict[str, Any]], None] | None = None,
    ) -> None:
        self._clock = clock
        self._on_event = on_event
        self._scripts: dict[str, Script] = {}
        self._helpers: dict[str, Script] = {}
        for script in scripts:
            self._put(script)
        self._asked: list[Asked] = []
        self._count = 0
        self._app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._models, methods=["GET"]),
                Route("/requests", self._get_requests, methods=["GET"]),
                Route("/offered", self._get_offered, methods=["GET"]),
                Route("/scripts", self._put_script, methods=["PUT"]),
                Route("/reset", self._reset, methods=["POST"]),
            ],
            exception_handlers={**HANDLERS, Refused: _refused},
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    # -- for tests in the same process

    def script(self, word: str, *steps: Step, helper: bool = False) -> None:
        """Say this from now on to prompts with `word` in them; `helper`: to requests on the side. Raises BadScript."""
        self._put(Script(word, steps, helper))

    def requests(self, after: int = 0) -> list[Asked]:
        """The chat requests with a larger `seq`."""
        return [asked for asked in self._asked if asked.seq > after]

    def reset(self) -> None:
        """Forget scripts and requests. Seqs go on."""
        self._scripts.clear()
        self._helpers.clear()
        self._asked.clear()

    def _put(self, script: Script) -> None:
        (self._helpers if script.helper else self._scripts)[script.word] = script

    # -- the agent's side

    async def _complete(self, request: Request) -> Response:
        raw = await read_body(request, REQUEST_BYTES_MAX)
        body = parse_object(raw)
        self._count += 1
        asked = Asked(self._count, self._clock.now_ns(), request.headers.get("authorization"), body, raw)
        self._asked.append(asked)
        if self._on_event is not None:
            tools = None if asked.tools is None else list(asked.tools)
            self._on_event("model.request", {"seq": asked.seq, "tools": tools, "messages": asked.messages})
        turn = turn_of(asked.messages)
        step = self._step(asked, turn)
        if step.after_s > 0:
            await self._clock.sleep(step.after_s)
        return self._response(asked, step, _message(asked, step, turn), int(self._clock.wall().timestamp()))

    def _step(self, asked: Asked, turn: Turn) -> Step:
        """Raises Refused."""
        if asked.helper:
            return chosen(self._helpers, turn) or Say(HELPER_ANSWER)
        step = chosen(self._scripts, turn)
        if step is None:
            known = ", ".join(sorted(self._scripts)) or "none"
            raise Refused(400, f"no script for the prompt {shown(turn.prompt)}; known words: {known}; PUT /scripts")
        return step

    def _response(self, asked: Asked, step: Step, message: wire.Message, created: int) -> Response:
        model = asked.body.get("model")
        model = model if isinstance(model, str) else MODEL
        if not asked.body.get("stream"):
            return answer(wire.whole(message, asked.seq, model, created))
        events = list(wire.events(message, asked.seq, model, created))
        if isinstance(step, Say) and step.every_s > 0:
            return StreamingResponse(self._paced(events, step.every_s), media_type="text/event-stream")
        return Response(b"".join(data for data, _ in events), media_type="text/event-stream")

    async def _paced(self, events: Iterable[tuple[bytes, bool]], every_s: float) -> AsyncIterator[bytes]:
        for data, goes_on in events:
            yield data
            if goes_on:
                await self._clock.sleep(every_s)

    async def _models(self, request: Request) -> Response:
        return answer({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "lasttick"}]})

    # -- the tests' side

    async def _get_requests(self, request: Request) -> Response:
        return answer({"requests": [asked.as_json() for asked in self.requests(after_seq(request))]})

    async def _get_offered(self, request: Request) -> Response:
        text = request.query_params.get("prompt", "")
        until_ns = self._clock.now_ns() + int(_wait_s(request) * NS_PER_S)
        while (asked := self._newest(text)) is None:
            if self._clock.now_ns() >= until_ns:
                what = f"no request with {shown(text)} in its prompt"
                raise Refused(404, f"{what}; expected a turn that has one; send the message first")
            await self._clock.sleep(LOOK_EVERY_S)
        tools = [{"name": name, "short": name.rpartition("__")[2]} for name in asked.tools or ()]
        return answer({"seq": asked.seq, "tools": tools})

    def _newest(self, text: str) -> Asked | None:
        """The newest request that began or went on with a turn whose prompt has that text."""
        turns = (asked for asked in reversed(self._asked) if not asked.helper)
        return next((asked for asked in turns if text in turn_of(asked.messages).prompt), None)

    async def _put_script(self, request: Request) -> Response:
        try:
            script = parse_script(parse_object(await read_body(request)))
        except BadScript as error:
            raise Refused(400, str(error)) from None
        self._put(script)
        return answer({"ok": True})

    async def _reset(self, request: Request) -> Response:
        self.reset()
        return answer({"ok": True})


def _wait_s(request: Request) -> int:
    text = request.query_params.get("wait_s", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and int(text) <= WAIT_S_MAX):
        raise Refused(400, f"wait_s is {shown(text)}; expected whole seconds up to {WAIT_S_MAX}; correct it")
    return int(text)


async def _refused(request: Request, error: Exception) -> Response:
    """As such servers say no; an agent shows the message."""
    assert isinstance(error, Refused)
    return answer({"error": {"message": str(error), "type": "invalid_request_error"}}, error.status)


def _message(asked: Asked, step: Step, turn: Turn) -> wire.Message:
    if isinstance(step, Say):
        return wire.Message(spoken(step, turn), step.reasoning, piece_chars=step.piece_chars)
    return wire.Message(step.text, calls=_calls(step, asked, turn))


def _calls(step: Call, asked: Asked, turn: Turn) -> tuple[tuple[str, str], ...]:
    offered = asked.tools or ()
    return tuple(
        (offered_name(tool, offered), json.dumps(asked_with(arguments, turn))) for tool, arguments in step.calls
    )
