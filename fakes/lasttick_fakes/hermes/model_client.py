"""How does the agent ask its model? Streamed chat completions over HTTP, and three tries when that fails.

Source: contract hermes, section 6. Waits between tries, and the sentence when all have failed: measured on 0.19.0
(whose own waits are drawn around these).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx

from lasttick.ports import Clock
from lasttick_fakes.hermes.config import Config

RETRY_AFTER_S = (2.0, 5.0)
MAX_TOKENS = 65536


Heard: TypeAlias = Callable[[str, str], None]
"""A piece of an answer: text, reasoning."""


def _deaf(text: str, reasoning: str) -> None:
    """For those who wait for the whole answer."""


class ModelFailed(Exception):
    """No answer. The message is what the program then prints in its place. `refused`: another try is of no use."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


@dataclass(slots=True)
class Spoken:
    """What the model said. `calls`: id, name, arguments as JSON text."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)

    def as_message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}
                for number, name, arguments in self.calls
            ]
        return message


class ModelClient:
    """One conversation's way to the model. The HTTP client is shared and not closed here."""

    def __init__(self, config: Config, http: httpx.AsyncClient, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._http = http

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        heard: Heard = _deaf,
    ) -> Spoken:
        """`heard` is told each piece as it comes. Raises ModelFailed."""
        body: dict[str, Any] = {"messages": list(messages), "model": self._config.model, "max_tokens": MAX_TOKENS}
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        if tools:
            body["tools"] = list(tools)
        for wait_s in (*RETRY_AFTER_S, None):
            try:
                return await self._once(body, heard)
            except httpx.HTTPStatusError as error:
                why = f"HTTP {error.response.status_code}: {_reason(error.response)}"
                if error.response.status_code < 500 and error.response.status_code not in (408, 409, 429):
                    raise ModelFailed(why, refused=True) from None
            except (httpx.HTTPError, ValueError, RecursionError):
                why = "Connection error."
            if wait_s is not None:
                await self._clock.sleep(wait_s)
        raise ModelFailed(f"API call failed after 3 retries: {why}")

    async def ask_aside(self, messages: Sequence[Mapping[str, Any]]) -> str | None:
        """A request on the side: no tools, no stream, one try. None when no answer came."""
        body = {"messages": list(messages), "model": self._config.model, "temperature": 0}
        try:
            response = await self._http.post(**self._request(body))
            response.raise_for_status()
            return str(response.json()["choices"][0]["message"]["content"])
        except (httpx.HTTPError, ValueError, RecursionError, LookupError, TypeError):
            return None

    def _request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self._config.api_key}", "content-type": "application/json"}
        content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
        return {"url": f"{self._config.base_url}/chat/completions", "content": content, "headers": headers}

    async def _once(self, body: Mapping[str, Any], heard: Heard) -> Spoken:
        async with self._http.stream("POST", **self._request(body)) as response:
            if response.is_error:
                await response.aread()
            response.raise_for_status()
            spoken, calls = Spoken(), dict[int, list[str]]()
            async for frame, delta in _deltas(response):
                if isinstance(frame.get("usage"), Mapping):
                    spoken.usage = frame["usage"]
                text, reasoning = _text(delta.get("content")), _text(delta.get("reasoning_content"))
                spoken.text += text
                spoken.reasoning += reasoning
                heard(text, reasoning)
                for piece in _mappings(delta.get("tool_calls")):
                    _add(calls.setdefault(_index(piece), ["", "", ""]), piece)
        spoken.calls = [(number, name, _compact(arguments)) for number, name, arguments in calls.values()]
        return spoken


async def _deltas(response: httpx.Response) -> AsyncIterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each event with what it adds; what is not as section 6 says adds nothing. Raises ValueError for no JSON."""
    async for line in response.aiter_lines():
        name, _, data = line.partition(":")
        if name != "data" or data.strip() == "[DONE]":
            continue
        frame = json.loads(data)
        if not isinstance(frame, Mapping):
            continue
        deltas = [choice.get("delta") for choice in _mappings(frame.get("choices"))]
        for delta in [delta for delta in deltas if isinstance(delta, Mapping)] or [{}]:
            yield frame, delta


def _add(call: list[str], piece: Mapping[str, Any]) -> None:
    function = piece.get("function")
    function = function if isinstance(function, Mapping) else {}
    call[0] = call[0] or _text(piece.get("id"))
    call[1] += _text(function.get("name"))
    call[2] += _text(function.get("arguments"))


def _index(piece: Mapping[str, Any]) -> int:
    index = piece.get("index")
    return index if isinstance(index, int) else 0


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _reason(response: httpx.Response) -> str:
    """`error.message` of an error as these servers send it, else the body as it is."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(response.text)["error"]["message"])
    return response.text


def _compact(arguments: str) -> str:
    """Arguments as the agent repeats them in the next request: JSON without blanks; as they were if they are none."""
    try:
        return json.dumps(json.loads(arguments), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return arguments
