"""What may an operator store about an organisation, and about the tools? Both documents are checked whole, then stored.

What was stored is read again at every turn and every call, so that a change counts from the next one on (GW-08).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lasttick.model import tool_names
from lasttick.model.errors import shown
from lasttick.model.tool_names import ToolNameError
from lasttick.model.tool_registry import Binding, Registry, Skill

EXECUTOR_KINDS = ("http",)
PARTS = ("chat_tokens", "bindings", "skills", "flags", "policies", "credentials")
_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_PRINTABLE = re.compile(r"[!-~]+")

DEFAULT_REGISTRY: dict[str, Any] = {
    "order_lookup": {"kind": "http", "actions": [{"name": "lookup", "accessClass": "read"}]},
    "shop": {
        "kind": "http",
        "actions": [
            {"name": "get_order", "accessClass": "read"},
            {"name": "get_product", "accessClass": "read"},
            {"name": "refund", "accessClass": "write"},
        ],
    },
}


class DocumentError(ValueError):
    """A document that can not be stored. Nothing of it is in force. Values of secrets are not in the message."""


@dataclass(frozen=True, slots=True)
class Org:
    """An organisation as the platform acts on it. One that nobody stored has nothing and may nothing."""

    org_id: str
    bindings: tuple[Binding, ...] = ()
    skills: Mapping[str, Skill] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Chat tokens and credentials, to be redacted wherever they turn up."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The registry in force, and each entry whole, for its executor."""

    registry: Registry
    entries: Mapping[str, Mapping[str, Any]]


def tools(data: Any) -> Tools:
    """Raises RegistryError, ToolNameError (two actions that the agent would fold together, ruling 8), DocumentError."""
    registry = Registry.from_data(data)
    pairs = [tool_names.joined(slug, action.name) for slug, kind in registry.kinds.items() for action in kind.actions]
    tool_names.refuse_collisions(pairs)
    for slug, kind in registry.kinds.items():
        entry, tool = data[slug], f"tool {shown(slug)}"
        if kind.kind not in EXECUTOR_KINDS:
            raise _wrong(f"`kind` of {tool} is {shown(kind.kind)}", f"one of {', '.join(EXECUTOR_KINDS)}")
        dots = (".", "..")
        if slug in dots or any(action.name in dots for action in kind.actions):
            raise _wrong(f"{tool} or an action of it is only dots", "names that can stand in a path")
        path = entry.get("path", "")
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise _wrong(f"`path` of {tool} is no plain path", "text such as /v1/orders, without a / at its end")
        names = entry.get("credentials", [])
        if not isinstance(names, list) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
            raise _wrong(f"`credentials` of {tool} is no list of names", "names of letters, digits and _")
    return Tools(registry, data)


def org(org_id: str, document: Any) -> Org:
    """Raises DocumentError."""
    if not isinstance(document, Mapping):
        raise _wrong("the organisation's document is no object", f"an object with some of {', '.join(PARTS)}")
    for name in document:
        if name not in PARTS:
            raise _wrong(f"the document has {shown(name)}", f"only {', '.join(PARTS)}")
    credentials = {slug: _credential(slug, values) for slug, values in _object(document, "credentials").items()}
    tokens = chat_tokens(document)
    values = [value for named in credentials.values() for value in named.values() if value]
    return Org(
        org_id=org_id,
        bindings=tuple(_binding(org_id, raw) for raw in _list(document, "bindings")),
        skills={name: _skill(name, slugs) for name, slugs in _object(document, "skills").items()},
        flags=_object(document, "flags"),
        policies={pair: _policy(pair, word) for pair, word in _object(document, "policies").items()},
        credentials=credentials,
        secrets=(*tokens, *values),
    )


def chat_tokens(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The tokens that open an organisation's conversations, each once."""
    tokens = _list(document, "chat_tokens")
    if not all(isinstance(token, str) and _PRINTABLE.fullmatch(token) for token in tokens):
        raise _wrong("a chat token is not one", "printable ASCII text without blanks, as a header carries it")
    return tuple(dict.fromkeys(tokens))


def credentials_complete(tools: Tools, organisation: Org, slug: str) -> bool:
    """Has every credential a value: those that the tool's entry names and those that the organisation began to fill?"""
    required = tools.entries.get(slug, {}).get("credentials", [])
    given = organisation.credentials.get(slug, {})
    return all(given.get(name) for name in [*required, *given])


def _binding(org_id: str, raw: Any) -> Binding:
    if not isinstance(raw, Mapping):
        raise _wrong("a binding is no object", "an object with `slug`, `state` and perhaps `access`")
    slug, access, state = raw.get("slug"), raw.get("access"), raw.get("state")
    if not tool_names.well_formed(slug):
        raise _wrong("a binding's `slug` is none", "the slug of a tool of the registry")
    if access not in (None, "read", "write"):
        raise _wrong(f"`access` of the binding of {shown(slug)} is no class", '"read", "write" or none')
    if not isinstance(state, str) or not state:
        raise _wrong(f"`state` of the binding of {shown(slug)} is none", 'text, "published" for one that counts')
    return Binding(org_id, slug, access, state)


def _skill(name: str, slugs: Any) -> Skill:
    if not isinstance(slugs, list) or not all(isinstance(slug, str) for slug in slugs):
        raise _wrong(f"skill {shown(name)} is no list of slugs", "the slugs of its tools")
    return Skill(name, tuple(slugs))


def _policy(pair: str, word: Any) -> str:
    try:
        tool_names.parted(pair)
    except ToolNameError as error:
        raise DocumentError(str(error)) from error
    if word not in ("allow", "deny"):
        raise _wrong(f"the policy of {shown(pair)} is neither", '"allow" or "deny"')
    return str(word)


def _credential(slug: str, values: Any) -> dict[str, str]:
    if not isinstance(values, Mapping):
        raise _wrong(f"the credentials of {shown(slug)} are no object", "values by name")
    for name, value in values.items():
        if not _NAME.fullmatch(name) or not isinstance(value, str) or not (not value or _PRINTABLE.fullmatch(value)):
            raise _wrong(f"a credential of {shown(slug)} is no header", "a name of letters, digits and _, ASCII text")
    return dict(values)


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, Mapping):
        raise _wrong(f"`{name}` is no object", f"an object, or no `{name}`")
    return value


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    value = document.get(name, [])
    if not isinstance(value, list):
        raise _wrong(f"`{name}` is no list", f"a list, or no `{name}`")
    return value


def _wrong(happened: str, expected: str) -> DocumentError:
    return DocumentError(f"{happened}; expected {expected} (contract gateway, Parts); correct it and send it again")
