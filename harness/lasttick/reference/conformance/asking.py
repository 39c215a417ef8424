"""How does a server ask in 2026-07-28? A call is answered with what is missing, and comes again with the answers.

Source: MCP specification 2026-07-28, multi round-trip requests; contract mcp_conformance, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import mcp_types as types

from lasttick.reference.conformance.content import form
from lasttick.reference.conformance.state import SignedState

Answers: TypeAlias = Mapping[str, Any]
Outcome: TypeAlias = types.CallToolResult | types.InputRequiredResult
PREFIX = "test_input_required_result_"


def said(text: str) -> types.CallToolResult:
    """A result of one text."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def elicit(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, tokens: int) -> types.CreateMessageRequest:
    content = types.TextContent(type="text", text=prompt)
    message = types.SamplingMessage(role="user", content=content)
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


def roots() -> types.ListRootsRequest:
    return types.ListRootsRequest()


def ask(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def content_of(answer: Any) -> Mapping[str, Any]:
    """The fields of a form that a person accepted; none for any other answer."""
    if isinstance(answer, types.ElicitResult) and answer.action == "accept":
        return answer.content or {}
    return {}


def sampled(answer: Any) -> str | None:
    """The text that a model gave; None for any other answer."""
    content = getattr(answer, "content", None)
    return content.text if isinstance(content, types.TextContent) else None


NAME = elicit("What is your name?", form(name="string"))


class Asking:
    """The fixtures that ask. One of these is what a client sees of `tools/call` for a name with `PREFIX`."""

    def __init__(self, state: SignedState) -> None:
        self._state = state
        self.tools = {
            "elicitation": (self._elicitation, "Asks for a name and greets with it."),
            "sampling": (self._sampling, "Asks the client's model for a capital."),
            "list_roots": (self._list_roots, "Asks for the client's roots."),
            "request_state": (self._request_state, "Gives a signed state and wants it back."),
            "multiple_inputs": (self._multiple_inputs, "Asks for three things at once."),
            "multi_round": (self._multi_round, "Asks twice, one question after the other."),
            "tampered_state": (self._request_state, "Refuses a state that was changed."),
            "capabilities": (self._capabilities, "Asks only for what the client can do."),
        }

    async def call(self, name: str, params: types.CallToolRequestParams, can: types.ClientCapabilities) -> Outcome:
        """One round of the tool `PREFIX + name`. Raises MCPError for a state that was changed."""
        return await self.tools[name][0](params.input_responses or {}, params.request_state, can)

    def prompt(self, answers: Answers) -> types.GetPromptResult | types.InputRequiredResult:
        """The prompt that asks for its context first."""
        context = content_of(answers.get("user_context")).get("context")
        if not isinstance(context, str):
            return ask(user_context=elicit("What context should the prompt use?", form(context="string")))
        text = types.TextContent(type="text", text=f"Use this context: {context}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])

    async def _elicitation(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        name = content_of(answers.get("user_name")).get("name")
        return said(f"Hello, {name}!") if isinstance(name, str) else ask(user_name=NAME)

    async def _sampling(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        text = sampled(answers.get("capital_question"))
        return ask(capital_question=sample("What is the capital of France?", 100)) if text is None else said(text)

    async def _list_roots(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        found = answers.get("client_roots")
        if not isinstance(found, types.ListRootsResult):
            return ask(client_roots=roots())
        return said("Roots: " + ", ".join(str(root.uri) for root in found.roots))

    async def _request_state(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        if state is None:
            confirm = elicit("Please confirm", form(ok="boolean"))
            return ask(self._state.seal(asked="confirm"), confirm=confirm)
        self._state.open(state)
        return said("state-ok")

    async def _multiple_inputs(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        questions: dict[str, Any] = {
            "user_name": NAME,
            "greeting": sample("Generate a greeting", 50),
            "client_roots": roots(),
        }
        if state is None or not questions.keys() <= answers.keys():
            return ask(self._state.seal(asked="three"), **questions)
        self._state.open(state)
        return said(f"{sampled(answers['greeting'])} {content_of(answers['user_name']).get('name')}")

    async def _multi_round(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        if state is None:
            return ask(self._state.seal(step=1), step1=elicit("Step 1: What is your name?", form(name="string")))
        known = self._state.open(state)
        if known.get("step") == 1:
            name = content_of(answers.get("step1")).get("name")
            question = elicit("Step 2: What is your favorite color?", form(color="string"))
            return ask(self._state.seal(step=2, name=name), step2=question)
        return said(f"{known.get('name')} likes {content_of(answers.get('step2')).get('color')}")

    async def _capabilities(self, answers: Answers, state: str | None, can: types.ClientCapabilities) -> Outcome:
        questions: dict[str, Any] = {}
        if can.elicitation is not None:
            questions["user_name"] = NAME
        if can.sampling is not None:
            questions["greeting"] = sample("Generate a greeting", 50)
        if can.roots is not None:
            questions["client_roots"] = roots()
        return ask(**questions) if questions and not answers else said("nothing to ask")
