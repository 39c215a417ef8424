"""How do people's messages come in? The HTTP surface of conversations, each behind its organisation's chat token.

| request | answer |
|---|---|
| `POST /v1/conversations/{id}/messages` `{text, skill?, channel?}` | 200 `{run_id, answer, conversation_id}` |
| the same with `Prefer: respond-async` | 202 `{run_id, conversation_id}` at once; the turn goes on |
| `GET /v1/conversations/{id}/messages` | 200 `{messages: [{role, text, run_id}]}`, oldest first |
| `POST /v1/conversations/{id}/regenerate` `{text, skill?, channel?}` | the same |
| `POST /v1/consultations` `{text}` | 200 `{answer}` |

`Prefer` is RFC 7240's: who does not want to hold a connection open for a turn that takes minutes asks for the answer
later.
The platform's own staff chat with the admin token: a conversation without a dispatch org, so without a run and tools.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.conversations import Conversations
from lasttick.reference.gateway.dispatch import Dispatch, Message, Turn
from lasttick.reference.gateway.hermes_turn import ARGUMENT_BYTES_MAX, fits
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.secret import AdminToken

CHANNEL = "chat"
CONVERSATION_ID_MAX = 200
LATER = "respond-async"


class ChatSurface:
    """Routes over `dispatch`."""

    def __init__(
        self, *, catalogue: Catalogue, conversations: Conversations, dispatch: Dispatch, admin: AdminToken | None
    ) -> None:
        self._catalogue = catalogue
        self._conversations = conversations
        self._dispatch = dispatch
        self._admin = admin
        self.routes = [
            Route("/v1/conversations/{conversation_id}/messages", self.messages, methods=["POST"]),
            Route("/v1/conversations/{conversation_id}/messages", self.get_messages, methods=["GET"]),
            Route("/v1/conversations/{conversation_id}/regenerate", self.regenerate, methods=["POST"]),
            Route("/v1/consultations", self.consultations, methods=["POST"]),
        ]

    async def messages(self, request: Request) -> Response:
        message = await self._message(request)
        if not _may_answer_later(request):
            return _turn(await self._dispatch.main(message))
        run_id = self._dispatch.begin(message)
        answer = http_json.json_answer(202, {"run_id": run_id, "conversation_id": message.conversation_id})
        answer.headers["preference-applied"] = LATER
        return answer

    async def get_messages(self, request: Request) -> Response:
        org_id = self._org(request)
        found = self._conversations.messages(org_id, request.path_params["conversation_id"])
        return http_json.json_answer(200, {"messages": found})

    async def regenerate(self, request: Request) -> Response:
        return _turn(await self._dispatch.regen(await self._message(request)))

    async def consultations(self, request: Request) -> Response:
        org_id = self._org(request)
        if org_id is None:
            raise Refused(http_json.UNAUTHENTICATED)
        body = await http_json.object_of(request)
        return http_json.json_answer(200, {"answer": await self._dispatch.consultation(org_id, _text(body))})

    async def _message(self, request: Request) -> Message:
        org_id = self._org(request)
        conversation_id = request.path_params["conversation_id"]
        if len(conversation_id) > CONVERSATION_ID_MAX:
            raise http_json.bad_request("the conversation's id is too long", f"at most {CONVERSATION_ID_MAX} letters")
        body = await http_json.object_of(request)
        skill, channel = body.get("skill"), body.get("channel", CHANNEL)
        if skill is not None and not isinstance(skill, str):
            raise http_json.bad_request("`skill` is no text", "the name of a skill, or none")
        if not isinstance(channel, str) or not channel:
            raise http_json.bad_request("`channel` is no text", "the name of a channel, or none")
        return Message(org_id, conversation_id, _text(body), skill, channel)

    def _org(self, request: Request) -> str | None:
        """Whose conversation is it? None: the platform's own. Raises Refused (401)."""
        token = http_json.bearer(request.headers.raw)
        if token is not None:
            org_id = self._catalogue.org_of_token(token)
            if org_id is not None:
                return org_id
            if self._admin is not None and self._admin.matches(token):
                return None
        raise Refused(http_json.UNAUTHENTICATED)


def _text(body: dict[str, Any]) -> str:
    """What the agent program will get as one of its arguments, which are bounded and hold no NUL and no lone
    surrogate."""
    text = body.get("text")
    if isinstance(text, str) and text.strip() and fits(text):
        return text
    raise http_json.bad_request(
        "`text` is none",
        f"text that is not blank, without NUL and lone surrogates, at most {ARGUMENT_BYTES_MAX} bytes of UTF-8",
    )


def _may_answer_later(request: Request) -> bool:
    preferences = ",".join(request.headers.getlist("prefer")).split(",")
    return any(preference.strip(" \t").lower() == LATER for preference in preferences)


def _turn(turn: Turn) -> Response:
    return http_json.json_answer(
        200, {"run_id": turn.run_id, "answer": turn.answer, "conversation_id": turn.conversation_id}
    )
