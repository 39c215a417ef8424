"""What of an answer is compared? Not what people read, not what is random, not where things are on this machine.

Free text is replaced by a mark, so that it must be there, but may say it in its own words. Pure.
Source: contract vaultclaw 1 ("Free text"), 18, 19; VC-21.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lasttick.model.vaultclaw.json_text import canonical, parse, sorted_keys

TEXT, RANDOM, TIME = "{text}", "{random}", "{time}"
_HEX = re.compile(r"\A[0-9a-f]{32}\Z")
_ANY, _DEEP = "*", "**"
FREE: tuple[tuple[str, ...], ...] = tuple(
    tuple(path.split("/"))
    for path in (
        "result/tools/*/description",
        "result/tools/*/inputSchema/**/description",
        "error/message",
        "**/details/cause",
        "**/details/retry_hint",
        "**/action/title",
        "**/action/message",
        "**/pre_send_summary/note",
        "**/module_hash/note",
        "**/resolutions/*/reason",
        "**/preflight/reason",
        "**/data/reasons",
        "**/data/fallback_hint",
        "**/data/progress_hint/message",
        "**/data/autofilled_inputs/*/reason",
        "**/data/missing_input_guidance/*/question",
        "**/external_fact_request/instructions",
    )
)
"""Where free text is, in the answer of a message. `*` is one step of a path, `**` any number."""
TOLD_BY_VAULT = re.compile(r"\A[A-Z][A-Z0-9_]*: ")
"""A reason that begins so repeats the vault's own code and message."""


def answer(value: Any, places: Mapping[str, str]) -> Any:
    """The answer of one message as it is compared. `places`: what stands on this side for each origin and folder."""
    if isinstance(value, dict) and isinstance(value.get("answers"), list):
        return {**value, "answers": [answer(one, places) for one in value["answers"]]}
    return free(_texts_apart(placed(value, places)))


def request(seen: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """One call that a fake logged, as it is compared."""
    headers = {name.lower(): value for name, value in seen["headers"]}
    try:
        body = parse(seen["body"]) if seen["body"] else None
    except ValueError:
        body = seen["body"]
    told = {
        "call": f"{seen['method']} {seen['path']}",
        "body": body,
        # None until the daemon has noticed that its caller left, which takes its time; then 0.
        "status": seen["status"] or 0,
        "authorization": headers.get("authorization"),
        "content_type": (headers.get("content-type") or "").partition(";")[0],
        "idempotency_key": random(headers.get("idempotency-key")),
        "request_id": random(headers.get("x-request-id")),
        "user_agent": headers.get("user-agent") if "x-request-id" in headers else None,
    }
    return {name: placed(value, places) for name, value in told.items()}


def random(value: str | None) -> str | None:
    """32 hex digits are somebody's chance; anything else is compared as it is."""
    return RANDOM if value is not None and _HEX.match(value) else value


def placed(value: Any, places: Mapping[str, str]) -> Any:
    """Texts with each place of this machine replaced by its name."""
    if isinstance(value, str):
        for here, name in places.items():
            value = value.replace(here, name)
        return value
    if isinstance(value, dict):
        return {key: placed(item, places) for key, item in value.items()}
    return [placed(item, places) for item in value] if isinstance(value, list) else value


def filled(value: Any, places: Mapping[str, str]) -> Any:
    """The inverse: a script's value with the places of this side."""
    return placed(value, {name: here for here, name in places.items()})


def free(value: Any) -> Any:
    """The value with its free texts marked, and its request ids."""
    return _free(value, [(rule, 0) for rule in FREE])


def differences(ours: Any, peers: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, ours, peer's) of each place where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(peers, dict):
        for key in sorted({*ours, *peers}):
            yield from differences(ours.get(key, ABSENT), peers.get(key, ABSENT), f"{path}/{key}")
    elif isinstance(ours, list) and isinstance(peers, list) and len(ours) == len(peers):
        for index, (mine, theirs) in enumerate(zip(ours, peers, strict=True)):
            yield from differences(mine, theirs, f"{path}/{index}")
    elif (ours is ABSENT) != (peers is ABSENT) or _text(ours) != _text(peers):
        yield path, ours, peers


class _Absent:
    """Neither null nor anything: the member is not there."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


def _text(value: Any) -> str:
    return "" if value is ABSENT else canonical(sorted_keys(value))


def _texts_apart(reply: Any) -> Any:
    """The texts of a tool's answer, apart: the first repeats the envelope, the second has free first and last lines."""
    result = reply.get("result") if isinstance(reply, dict) else None
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return reply
    envelope = result.get("structuredContent")
    content = [_summary(item) if index else _repeats(item, envelope) for index, item in enumerate(result["content"])]
    told = {**result, "content": content}
    if isinstance(envelope, dict):
        told["structuredContent"] = _own_words(envelope)
    return {**reply, "result": told}


def _own_words(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """A message that is not the vault's is the server's own, and free."""
    error = envelope.get("error")
    if not isinstance(error, dict):
        return {**envelope, "data": _composed(envelope.get("data"))}
    details = error.get("details")
    vaults = details.get("vault_error") if isinstance(details, dict) else None
    passed_on = isinstance(vaults, dict) and error.get("message") == vaults.get("message")
    told = {**error, "message": "{the vault's}" if passed_on else TEXT}
    if isinstance(details, dict) and isinstance(latest := details.get("latest_error"), dict):
        told["details"] = {**details, "latest_error": {**latest, "message": TEXT}}
    if isinstance(details, dict) and isinstance(upstream := details.get("upstream_error"), dict):
        told["details"] = {**details, "upstream_error": _own_words({"error": upstream})["error"]}
    return {**envelope, "error": told}


def _composed(data: Any) -> Any:
    """The intro of a passport mail is free; it ends at the first empty line."""
    if not isinstance(data, dict) or "composed_text" not in data:
        return data
    intros = {text: _after_intro(text) for name in ("composed_text", "composed_text_alt") if (text := data.get(name))}
    return _replaced(data, intros)


def _after_intro(text: str) -> str:
    intro, gap, rest = text.partition("\n\n")
    return f"{TEXT if intro else ''}{gap}{rest}" if gap else text


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, dict):
        return {key: _replaced(item, texts) for key, item in value.items()}
    return [_replaced(item, texts) for item in value] if isinstance(value, list) else value


def _repeats(item: Any, envelope: Any) -> Any:
    try:
        same = _text(parse(item["text"])) == _text(envelope)
    except (ValueError, KeyError, TypeError):
        return item
    return {**item, "text": "{the envelope}"} if same else item


def _summary(item: Any) -> Any:
    lines = item["text"].split("\n") if isinstance(item, dict) and isinstance(item.get("text"), str) else []
    return {**item, "text": "\n".join([TEXT, *lines[1:-1], TEXT])} if len(lines) > 1 else item


def _free(value: Any, rules: Sequence[tuple[tuple[str, ...], int]]) -> Any:
    """`rules`: which of them may still apply below here, and how far each has come."""
    if any(at == len(rule) for rule, at in rules):
        # What says nothing stays as it is: null is no wording.
        return value if value in (None, "", []) or (isinstance(value, str) and TOLD_BY_VAULT.match(value)) else TEXT
    if isinstance(value, dict):
        return {key: _instant(key, item) or _free(item, _below(rules, key)) for key, item in value.items()}
    return [_free(item, _below(rules, _ANY)) for item in value] if isinstance(value, list) else value


def _instant(key: str, value: Any) -> str | None:
    """The mark of a value that is another in every play: a request's id, a point in time. None: it is compared."""
    if key == "request_id" and isinstance(value, str) and value:
        return random(value)
    if key.endswith("_unix_ms") and isinstance(value, int | float) and value:
        return TIME
    return None


def _below(rules: Sequence[tuple[tuple[str, ...], int]], key: str) -> list[tuple[tuple[str, ...], int]]:
    found = []
    for rule, at in rules:
        if rule[at] == _DEEP:
            found.append((rule, at))
            at += 1
        if rule[at] in (key, _ANY):
            found.append((rule, at + 1))
    return found
