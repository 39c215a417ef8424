"""Is a connector request well-formed? The strict look at one, field by field, before anything is executed.

Gmail is strict: recipients are arrays of texts, the body is in `text_plain` or `text_html`, attachments name a document
type and nothing unknown is let through. Source: requirements of system VC, "The fake daemon's validate"; contract
vaultclaw 10 for `module_hash`. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from lasttick_fakes.vaultd.connectors import Connector, Policy, policy_hash


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place. `path` is a JSON pointer into the request that was sent."""

    path: str
    code: str
    message: str
    expected: str
    actual: str


def validate(request: Any, connectors: Mapping[str, Connector], policy: Policy) -> list[Problem]:
    """All that is wrong with `{connector_id, verb, request, module_hash?}`; empty when it may run."""
    if not isinstance(request, dict):
        return [_problem("", "TYPE_MISMATCH", "an object", request)]
    connector_id, verb = request.get("connector_id"), request.get("verb")
    connector = connectors.get(connector_id) if isinstance(connector_id, str) else None
    if connector is None:
        return [_problem("/connector_id", "UNKNOWN_CONNECTOR", "a connector of this vault", connector_id)]
    if not isinstance(verb, str) or not connector.has(verb):
        return [_problem("/verb", "UNKNOWN_VERB", f"a verb of {connector_id}", verb)]
    problems = list(_module_hash(request, connector, policy))
    inner = request.get("request", {})
    if not isinstance(inner, dict):
        return [*problems, _problem("/request", "TYPE_MISMATCH", "an object", inner)]
    return problems + validate_inner(verb, inner)


def validate_inner(verb: str, inner: Mapping[str, Any]) -> list[Problem]:
    """The inner request of a known verb: what a step of a plan is judged by, too."""
    shape = _SHAPES.get(verb.removesuffix(".v1"))
    return [] if shape is None else list(shape(inner))


def report(problems: list[Problem]) -> dict[str, Any]:
    """The answer of the validate call."""
    return {"valid": not problems, "errors": [asdict(problem) for problem in problems]}


def _module_hash(request: Mapping[str, Any], connector: Connector, policy: Policy) -> Iterator[Problem]:
    given, expected = request.get("module_hash"), policy_hash(connector, policy)
    if given == expected:
        return
    if given not in (None, ""):
        yield _problem("/module_hash", "MODULE_HASH_MISMATCH", expected, given)
    elif request["verb"].startswith("google.gmail."):
        yield _problem("/module_hash", "MODULE_HASH_REQUIRED", expected, given)


def _compose(inner: Mapping[str, Any]) -> Iterator[Problem]:
    """A new mail or draft."""
    if "to" not in inner:
        yield _problem("/request/to", "FIELD_REQUIRED", "an array of addresses", None)
    for name, value in inner.items():
        if name in ("to", "cc", "bcc"):
            yield from _texts(f"/request/{name}", value)
        elif name == "document_attachments":
            yield from _attachments(value)
        elif name in ("user_id", "subject", "text_plain", "text_html", "thread_id"):
            if not isinstance(value, str):
                yield _problem(f"/request/{name}", "TYPE_MISMATCH", "text", value)
        else:
            hint = "text_plain or text_html" if name == "body_text" else "no such member"
            yield _problem(f"/request/{name}", "FIELD_NOT_ALLOWED", hint, value)


def _send_draft(inner: Mapping[str, Any]) -> Iterator[Problem]:
    """A draft that exists is sent: nothing of it can be said again."""
    yield from _needs_text(inner, "draft_id")
    for name, value in inner.items():
        if name not in ("user_id", "draft_id"):
            yield _problem(f"/request/{name}", "FIELD_NOT_ALLOWED", "only user_id and draft_id", value)


def _message(inner: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _needs_text(inner, "message_id")


def _http(inner: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _needs_text(inner, "method")
    url = inner.get("url")
    if not isinstance(url, str) or not _is_http(url):
        yield _problem("/request/url", "INVALID_VALUE", "an http or https URL with a host", url)


def _read_profile(inner: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _may_be(inner, "subject_ref", str, "text")
    yield from _texts("/request/slots", inner.get("slots", []))


def _extraction(inner: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _needs_text(inner, "document_id")
    yield from _may_be(inner, "subject_ref", str, "text")
    yield from _may_be(inner, "extracted_fields", dict, "an object")


_SHAPES: dict[str, Callable[[Mapping[str, Any]], Iterator[Problem]]] = {
    "google.gmail.drafts.create": _compose,
    "google.gmail.messages.send": _compose,
    "google.gmail.drafts.send": _send_draft,
    "google.gmail.messages.get": _message,
    "google.gmail.messages.get_content": _message,
    "google.gmail.messages.modify": _message,
    "google.gmail.messages.trash": _message,
    "google.gmail.messages.untrash": _message,
    "generic.http.request": _http,
    "identity.profile.read": _read_profile,
    "identity.extraction.run": _extraction,
}


def _texts(path: str, value: Any) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield _problem(path, "TYPE_MISMATCH", "an array of texts", value)
        return
    for index, one in enumerate(value):
        if not isinstance(one, str):
            yield _problem(f"{path}/{index}", "TYPE_MISMATCH", "text", one)


def _attachments(value: Any) -> Iterator[Problem]:
    path = "/request/document_attachments"
    if not isinstance(value, list):
        yield _problem(path, "TYPE_MISMATCH", "an array of objects", value)
        return
    for index, one in enumerate(value):
        here = f"{path}/{index}"
        if not isinstance(one, dict):
            yield _problem(here, "TYPE_MISMATCH", "an object", one)
            continue
        if not isinstance(one.get("type_id"), str) or not one["type_id"].strip():
            yield _problem(f"{here}/type_id", "FIELD_REQUIRED", "the id of a document type", one.get("type_id"))
        for name, member in one.items():
            if name not in ("type_id", "filename", "content_type"):
                yield _problem(f"{here}/{name}", "FIELD_NOT_ALLOWED", "type_id, filename, content_type", member)
            elif name != "type_id" and not isinstance(member, str):
                yield _problem(f"{here}/{name}", "TYPE_MISMATCH", "text", member)


def _needs_text(inner: Mapping[str, Any], name: str) -> Iterator[Problem]:
    value = inner.get(name)
    if not isinstance(value, str) or not value.strip():
        code = "FIELD_REQUIRED" if name not in inner else "TYPE_MISMATCH"
        yield _problem(f"/request/{name}", code, "text that is not blank", value)


def _may_be(inner: Mapping[str, Any], name: str, kind: type, expected: str) -> Iterator[Problem]:
    if name in inner and not isinstance(inner[name], kind):
        yield _problem(f"/request/{name}", "TYPE_MISMATCH", expected, inner[name])


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _problem(path: str, code: str, expected: str, actual: Any) -> Problem:
    kind = _kind(actual)
    where = path or "the request"
    return Problem(path, code, f"{where} is {kind}; expected {expected}; correct the request.", expected, kind)


def _kind(value: Any) -> str:
    """The value as a person may see it: texts and containers by their type, never their content."""
    if value is None:
        return "absent or null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "an array"
    return "an object" if isinstance(value, dict) else "a number"
