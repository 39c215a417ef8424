"""What asks a person outside of any turn? The agent's own gateway: slash confirmations, update prompts, clarifications.

Lines of JSON each way, as the adapter's event source reads and answers them. Source: contract lineup C-7, C-10, hermes
5.1 to 5.3. Fidelity: the events of the real gateway as far as they were read in its source; what it does with an answer
is only noted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lasttick.ports import LineStream


class NativeSource:
    """One gateway. `answers` is what came back, in order. `on_event` hears `native.asked` and `native.answered`."""

    def __init__(self, stream: LineStream, on_event: Callable[[str, dict[str, Any]], None]) -> None:
        self.answers: list[Any] = []
        self._stream = stream
        self._on_event = on_event
        self._reader = asyncio.create_task(self._read(), name="native source")

    async def slash_confirm(self, session_key: str, confirm_id: str, title: str, message: str) -> None:
        await self.ask(
            {
                "kind": "slash_confirm",
                "session_key": session_key,
                "confirm_id": confirm_id,
                "title": title,
                "message": message,
            }
        )

    async def update_prompt(self, session_key: str, id_: str, prompt: str, default: str) -> None:
        await self.ask(
            {"kind": "update_prompt", "session_key": session_key, "id": id_, "prompt": prompt, "default": default}
        )

    async def clarify(self, clarify_id: str, question: str, choices: Sequence[str] = (), **more: Any) -> None:
        await self.ask({"clarify_id": clarify_id, "question": question, "choices": list(choices), **more})

    async def ask(self, event: Mapping[str, Any] | bytes) -> None:
        """An event as given; bytes as they are."""
        line = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
        self._on_event("native.asked", {"event": event if isinstance(event, Mapping) else repr(event)})
        self._stream.write(line + b"\n")

    async def close(self) -> None:
        """It hangs up."""
        self._stream.close()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        async for line in self._stream.lines():
            answer = json.loads(line)
            self.answers.append(answer)
            self._on_event("native.answered", {"answer": answer})
