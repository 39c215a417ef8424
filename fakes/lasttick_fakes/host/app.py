"""How does a test elsewhere sit down before the host? Everything that a person can do, over HTTP.

| request | answer |
|---|---|
| `GET /cards?state=emitted&conversation_id=ID&call_id=ID` | 200 `{"cards": [...]}`, each as shown, with its state |
| `GET /conversations/ID` | 200 `{"said": [{message_id, role, text}], "cards": [...]}` |
| `POST /conversations/ID/say` `{text, message_id?}` | 200 `{"message_id"}` |
| `POST /conversations/ID/click` `{call_id, action, times?, as_list?}` | 200; `action` is an id or a label |
| `POST /conversations/ID/type` `{call_id, text or values}`, `.../dismiss` `{call_id}` | 200 |
| `POST /conversations/ID/answer` `{call_id, status, result, wait_s?}` | 200 `{"told"}`; an answer as given |
| `POST /conversations/ID/cancel` `{}` | 200; stop the running turn |
| `POST /inventory` `{revision, tools}`, `POST /raw` any bytes | 200 |
| `GET /log?after=SEQ` | 200 `{"log": [{seq, t_ns, way, frame, problem}]}` |
| `POST /link` `{"up": true or false}` | 200 `{"up"}`; the host comes or leaves; 502 when there is no adapter |

A card that is not there is 404, an action that it does not have 400, a host without a link 409. Filters may be left
out. What the adapter says to an answer comes later: look at the card, or say how long to wait for it; `told` is then
its `{state, disposition, reason}`, and 504 says that it said nothing. A card's `outcome` is the action that was taken,
or how else the card ended. It listens on loopback only.
Shown by tests/fakes/host/test_app.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick_fakes.host.errors import NotSeen
from lasttick_fakes.host.host import ChatHost
from lasttick_fakes.host.person import Person
from lasttick_fakes.host.screen import CardView
from lasttick_fakes.host.wires import Wire
from lasttick_fakes.http_json import HANDLERS, Refused, after_seq, answer, parse_object, read_body, shown

RAW_BYTES_MAX = 1 << 22
WAIT_S_MAX = 60
Deed: TypeAlias = Callable[[Person, Mapping[str, Any]], Awaitable[dict[str, Any]]]


class HostApp:
    """An ASGI app around one host; `connect` makes a new link to its adapter, or raises OSError."""

    def __init__(self, host: ChatHost, connect: Callable[[], Awaitable[Wire]]) -> None:
        self._host = host
        self._connect = connect
        self._deeds: dict[str, Deed] = {
            "say": self._say,
            "click": self._click,
            "type": self._type,
            "dismiss": self._dismiss,
            "answer": self._answer,
            "cancel": self._cancel,
        }
        self._app = Starlette(
            routes=[
                Route("/cards", self._get_cards, methods=["GET"]),
                Route("/conversations/{id}", self._get_conversation, methods=["GET"]),
                Route("/conversations/{id}/{deed}", self._do, methods=["POST"]),
                Route("/inventory", self._inventory, methods=["POST"]),
                Route("/raw", self._raw, methods=["POST"]),
                Route("/log", self._get_log, methods=["GET"]),
                Route("/link", self._link, methods=["POST"]),
            ],
            exception_handlers={**HANDLERS, ConnectionError: _no_link},
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    async def come(self) -> None:
        """Join the adapter. Raises OSError."""
        await self._host.come(await self._connect())

    # -- looking

    async def _get_cards(self, request: Request) -> Response:
        wanted = {name: request.query_params.get(name) for name in ("state", "conversation_id", "call_id")}
        cards = [_card(card) for card in self._host.screen.cards.values()]
        found = [card for card in cards if all(value in (None, card[name]) for name, value in wanted.items())]
        return answer({"cards": found})

    async def _get_conversation(self, request: Request) -> Response:
        person = self._host.person(request.path_params["id"])
        said = [{"message_id": one.message_id, "role": one.role, "text": one.text} for one in person.said]
        return answer({"said": said, "cards": [_card(card) for card in person.cards]})

    async def _get_log(self, request: Request) -> Response:
        after = after_seq(request)
        return answer({"log": [line.as_json() for line in self._host.log if line.seq > after]})

    # -- doing

    async def _do(self, request: Request) -> Response:
        deed = self._deeds.get(request.path_params["deed"])
        if deed is None:
            raise Refused(
                404, f"no {shown(request.path_params['deed'])}; a person can {', '.join(self._deeds)}; do that"
            )
        body = parse_object(await read_body(request))
        return answer(await deed(self._host.person(request.path_params["id"]), body))

    async def _say(self, person: Person, body: Mapping[str, Any]) -> dict[str, Any]:
        message_id = body.get("message_id")
        return {"message_id": await person.say(_text(body, "text"), None if message_id is None else str(message_id))}

    async def _click(self, person: Person, body: Mapping[str, Any]) -> dict[str, Any]:
        times, card = body.get("times", 1), self._card(body)
        if not isinstance(times, int) or not 1 <= times <= 10:
            raise Refused(400, f"times is {shown(times)}; expected 1 to 10; correct it")
        try:
            await person.click(card, _text(body, "action"), times=times, as_list=body.get("as_list") is True)
        except ValueError as error:
            raise Refused(400, str(error)) from None
        return {"ok": True}

    async def _type(self, person: Person, body: Mapping[str, Any]) -> dict[str, Any]:
        values = body.get("values")
        await person.type(self._card(body), values if isinstance(values, Mapping) else _text(body, "text"))
        return {"ok": True}

    async def _dismiss(self, person: Person, body: Mapping[str, Any]) -> dict[str, Any]:
        await person.dismiss(self._card(body))
        return {"ok": True}

    async def _answer(self, person: Person, body: Mapping[str, Any]) -> dict[str, Any]:
        wait_s = body.get("wait_s", 0)
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 <= wait_s <= WAIT_S_MAX:
            raise Refused(400, f"wait_s is {shown(wait_s)}; expected seconds from 0 to {WAIT_S_MAX}; correct it")
        sent = await person.answer(_text(body, "call_id"), _text(body, "status"), body.get("result"))
        if not wait_s:
            return {"told": None}
        try:
            told = await person.heard(sent, wait_s)
        except NotSeen as error:
            raise Refused(504, f"{error}; wait longer, or look at the card") from None
        return {"told": {"state": told.state, "disposition": told.disposition, "reason": told.reason}}

    async def _cancel(self, person: Person, body: Mapping[str, Any]) -> dict[str, Any]:
        await person.cancel()
        return {"ok": True}

    async def _inventory(self, request: Request) -> Response:
        body = parse_object(await read_body(request))
        tools = body.get("tools", {})
        well = isinstance(tools, Mapping) and all(isinstance(arguments, Mapping) for arguments in tools.values())
        if not well:
            raise Refused(400, f"tools are {shown(tools)}; expected tool -> argument -> type and required; correct it")
        await self._host.publish(_text(body, "revision"), tools, "")
        return answer({"ok": True})

    async def _raw(self, request: Request) -> Response:
        await self._host.send_raw(await read_body(request, RAW_BYTES_MAX))
        return answer({"ok": True})

    async def _link(self, request: Request) -> Response:
        up = parse_object(await read_body(request)).get("up")
        if not isinstance(up, bool):
            raise Refused(400, f"up is {shown(up)}; expected true or false; correct it")
        if up:
            try:
                await self.come()
            except OSError as error:
                raise Refused(502, f"the adapter cannot be reached: {error}; expected one; start it first") from None
        else:
            await self._host.leave()
        return answer({"up": self._host.is_here})

    def _card(self, body: Mapping[str, Any]) -> CardView:
        """The card that is meant. Raises Refused."""
        card = self._host.screen.cards.get(_text(body, "call_id"))
        if card is None:
            raise Refused(404, f"no card {shown(body['call_id'])} was shown; expected one of GET /cards; look there")
        return card


def _card(card: CardView) -> dict[str, Any]:
    names = ("call_id", "conversation_id", "tool", "title", "prompt", "expires_at", "data")
    now = ("state", "enabled", "disposition", "reason", "outcome")
    return {name: getattr(card, name) for name in (*names, *now)}


def _text(body: Mapping[str, Any], name: str) -> str:
    """Raises Refused."""
    value = body.get(name)
    if not isinstance(value, str):
        raise Refused(400, f"{name} is {shown(value)}; expected a text; correct it")
    return value


async def _no_link(request: Request, error: Exception) -> Response:
    return answer({"error": f"{error}; POST /link"}, 409)
