"""What does the suite not see? Two passes that mean nothing, and a door that it cannot knock at.

`tools-call-simple-text` and `tools-call-error` pass on a server that has no such tool, so their texts are asserted
here; and since the suite can send no token, what it calls is called here without one. Source: contract
mcp_conformance, section 3 (false passes) and section 2 (way 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from lasttick_fakes.client import Era, LostTransport, McpClient, Reply

ERAS: tuple[Era, ...] = get_args(Era)
SIMPLE_TEXT = "This is a simple text response for testing."
ERROR_TEXT = "This tool intentionally returns an error for testing"
METHODS: dict[Era, tuple[str, ...]] = {
    "handshake": (
        "initialize",
        "ping",
        "logging/setLevel",
        "completion/complete",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
    ),
    "modern": (
        "server/discover",
        "completion/complete",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "prompts/list",
        "prompts/get",
        "subscriptions/listen",
    ),
}
"""What the suite's scenarios send, by era."""


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """`reason` says what was wrong; empty when nothing was."""

    id: str
    reason: str

    @property
    def ok(self) -> bool:
        return not self.reason

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "verdict": "pass" if self.ok else "fail", "reason": self.reason}


async def fixture_texts(url: str, token: str) -> list[OwnCheck]:
    """The two texts, in both eras, through the door."""
    checks = []
    for era in ERAS:
        client = McpClient(url, token=token, era=era, name="own-check")
        try:
            await client.open()
            simple, failing = await client.call("test_simple_text"), await client.call("test_error_handling")
            wrong = {
                f"simple-text/{era}": _unlike(simple, SIMPLE_TEXT, failed=False),
                f"error-text/{era}": _unlike(failing, ERROR_TEXT, failed=True),
            }
        except LostTransport as error:
            wrong = {f"texts/{era}": str(error)}
        finally:
            await client.close()
        checks += [OwnCheck(id_, reason) for id_, reason in wrong.items()]
    return checks


async def door_is_shut(url: str) -> list[OwnCheck]:
    """Every method of both eras, and GET and DELETE, without a token: 401."""
    checks = []
    for era in ERAS:
        client = McpClient(url, token=None, era=era, name="nobody")
        try:
            replies = {method: await client.request(method, {}) for method in METHODS[era]}
            replies |= {verb: await client.send(verb) for verb in ("GET", "DELETE")}
            got = {name: reply.http_status for name, reply in replies.items() if reply.http_status != 401}
            reason = f"expected 401 without a token, got {got}" if got else ""
        except LostTransport as error:
            reason = str(error)
        finally:
            await client.close()
        checks.append(OwnCheck(f"no-token/{era}", reason))
    return checks


def _unlike(reply: Reply, text: str, *, failed: bool) -> str:
    """Why this is not a result of exactly `text`; empty when it is."""
    result = reply.result if isinstance(reply.result, dict) else {}
    got = [item.get("text") for item in result.get("content", [])], result.get("isError", False)
    return "" if got == ([text], failed) else f"expected {text!r}, isError {failed}; got {got}, error {reply.error}"
