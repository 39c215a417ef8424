"""How does a test set a vault up? The scripted side: plain functions from decoded JSON to a change of the state.

| request | body | answer |
|---|---|---|
| PUT /control/tokens/{token} | `{tenant, agent_id?, scopes?, approver?}` | `{ok}` |
| PUT /control/policies | the members of `connectors.Policy` | `{ok}` |
| PUT /control/persons | `{persons: [{decision, after_s?, name?, tenant?, verb?, times?}]}` | `{ok}` |
| PUT /control/connectors/{id} | `{title?, verbs}` | `{ok}` |
| PUT /control/verbs/{verb} | `{result}` or `{error: {status?, code?, message?, details?}}`, `{}` ends it | `{ok}` |
| PUT /control/documents/{id} | `{tenant, type_id, subject_id?, fields?}` | `{ok}` |
| PUT /control/types/{id} | `{title?, words}` | `{ok}` |
| PUT /control/identities/{tenant} | `{slot: value}` of the subject `self` | `{ok}` |
| POST /control/jobs, .../runs | `{tenant, agent_id?, states: [{at_s?, status, error?}]}` | `{job_id}`, `{run_id}` |
| POST /control/cancel | `{id}` of a job or run | `{ok}` |

A body that cannot be read changes nothing and answers 400 in three parts. A person's `decision` is approve, deny or
never; persons meet requests that are made after they were put.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick_fakes.http_json import Refused, shown
from lasttick_fakes.vaultd.approval import DECISIONS
from lasttick_fakes.vaultd.connectors import Connector, parse_policy, seconds
from lasttick_fakes.vaultd.principals import parse_principal
from lasttick_fakes.vaultd.state import Person, VaultState, Work
from lasttick_fakes.vaultd.work import Now, Workroom

NEVER = "never"
OK = {"ok": True}


def put(state: VaultState, kind: str, ident: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """`PUT /control/{kind}/{ident}`; `ident` is "" where there is none. Raises Refused (400, 404)."""
    setter = _PUT.get((kind, bool(ident)))
    if setter is None:
        known = ", ".join(kind + "/ID" * named for kind, named in _PUT)
        what = f"nothing is at /control/{shown(kind)}{'/ID' * bool(ident)}"
        raise Refused(404, f"{what}; expected /control/ and one of {known}; put it there")
    setter(state, ident, body)
    return OK


def begin(room: Workroom, kind: str, body: Mapping[str, Any], now: Now) -> dict[str, Any]:
    """A job or a run whose states are told. Raises Refused (400)."""
    _only(body, "tenant", "agent_id", "states")
    states = body.get("states")
    if not isinstance(states, list) or not states:
        raise Refused(400, f"states is {shown(states)}; expected [{{at_s, status, error?}}], one or more; give them")
    script = [_told(one) for one in states]
    if script != sorted(script, key=lambda one: one["at_s"]):
        raise Refused(400, f"states is {shown(states)}; expected them in the order of at_s; sort them")
    tenant, agent_id = _text(body, "tenant"), _text(body, "agent_id", "agent-1")
    name = "job" if kind == "JOB" else "run"
    work_id = room.state.next_id(name)
    work = Work(work_id, kind, tenant, agent_id, now.ns, script=script)
    room.state.works[work_id] = work
    return {f"{name}_id": work_id}


def cancel(room: Workroom, body: Mapping[str, Any], now: Now) -> dict[str, Any]:
    """End one job or run. Raises Refused (400, 404)."""
    _only(body, "id")
    work = room.state.works.get(_text(body, "id"))
    if work is None:
        raise Refused(404, f"no job or run is {shown(body['id'])}; expected the id of one; correct it")
    room.cancel(work, now)
    return OK


def person_of(body: Any) -> Person:
    """A scripted approver from decoded JSON. Raises Refused (400)."""
    if not isinstance(body, dict):
        raise Refused(400, f"a person is {shown(body)}; expected an object; correct it")
    _only(body, *Person.__slots__)
    if body.get("decision") not in (*DECISIONS, NEVER):
        raise Refused(400, f"decision is {shown(body.get('decision'))}; known are approve, deny, never; use one")
    seconds(body.get("after_s", 0), "after_s")
    for name in ("name", "tenant", "verb"):
        if body.get(name) is not None:
            _text(body, name)
    times = body.get("times")
    if times is not None and (type(times) is not int or times < 1):
        raise Refused(400, f"times is {shown(times)}; expected a whole number from 1, or none; correct it")
    return Person(**body)


def _token(state: VaultState, ident: str, body: Mapping[str, Any]) -> None:
    state.tokens[ident] = parse_principal(body)


def _policy(state: VaultState, _: str, body: Mapping[str, Any]) -> None:
    state.policy = parse_policy(body)


def _persons(state: VaultState, _: str, body: Mapping[str, Any]) -> None:
    _only(body, "persons")
    listed = body.get("persons")
    if not isinstance(listed, list):
        raise Refused(400, f"persons is {shown(listed)}; expected an array; correct it")
    state.persons = [person_of(one) for one in listed]


def _connector(state: VaultState, ident: str, body: Mapping[str, Any]) -> None:
    _only(body, "title", "verbs")
    state.connectors[ident] = Connector(ident, _text(body, "title", ident), tuple(sorted(_texts(body, "verbs"))))


def _verb(state: VaultState, ident: str, body: Mapping[str, Any]) -> None:
    _only(body, "result", "error")
    for name in ("result", "error"):
        if not isinstance(body.get(name, {}), dict):
            raise Refused(400, f"{name} is {shown(body[name])}; expected an object; correct it")
    status = body.get("error", {}).get("status", 422)
    if type(status) is not int or not 400 <= status <= 599:
        raise Refused(400, f"error.status is {shown(status)}; expected 400 to 599; correct it")
    if not isinstance(body.get("error", {}).get("details", {}), dict):
        raise Refused(400, f"error.details is {shown(body['error']['details'])}; expected an object; correct it")
    if body:
        state.verbs[ident] = dict(body)
    else:
        state.verbs.pop(ident, None)


def _document(state: VaultState, ident: str, body: Mapping[str, Any]) -> None:
    _only(body, "tenant", "type_id", "subject_id", "fields")
    document = {
        "document_id": ident,
        "tenant": _text(body, "tenant"),
        "type_id": _text(body, "type_id"),
        "subject_id": _text(body, "subject_id", "self"),
        "fields": _text_by_text(body.get("fields", {}), "fields"),
    }
    others = [one for one in state.documents if (one["tenant"], one["document_id"]) != (document["tenant"], ident)]
    state.documents = [*others, document]


def _type(state: VaultState, ident: str, body: Mapping[str, Any]) -> None:
    _only(body, "title", "words")
    words = [word.casefold() for word in _texts(body, "words")]
    others = [one for one in state.types if one["type_id"] != ident]
    state.types = [*others, {"type_id": ident, "title": _text(body, "title", ident), "words": words}]


def _identity(state: VaultState, ident: str, body: Mapping[str, Any]) -> None:
    state.identities.setdefault(ident, {})["self"] = _text_by_text(body, "the body")


_PUT: dict[tuple[str, bool], Callable[[VaultState, str, Mapping[str, Any]], None]] = {
    ("tokens", True): _token,
    ("policies", False): _policy,
    ("persons", False): _persons,
    ("connectors", True): _connector,
    ("verbs", True): _verb,
    ("documents", True): _document,
    ("types", True): _type,
    ("identities", True): _identity,
}


def _told(one: Any) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise Refused(400, f"a state is {shown(one)}; expected {{at_s, status, error?}}; correct it")
    _only(one, "at_s", "status", "error")
    if not isinstance(one.get("error", {}), dict):
        raise Refused(400, f"error is {shown(one['error'])}; expected an object; correct it")
    told = {"at_s": seconds(one.get("at_s", 0), "at_s"), "status": _text(one, "status")}
    return {**told, "error": one["error"]} if "error" in one else told


def _only(body: Mapping[str, Any], *known: str) -> None:
    if odd := sorted(set(body) - set(known)):
        raise Refused(400, f"unknown member {shown(odd[0])}; expected only {', '.join(known)}; leave it out")


def _text(body: Mapping[str, Any], name: str, default: str = "") -> str:
    value = body.get(name, default)
    if not isinstance(value, str) or not value:
        raise Refused(400, f"{name} is {shown(value)}; expected text that is not empty; correct it")
    return value


def _texts(body: Mapping[str, Any], name: str) -> list[str]:
    value = body.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise Refused(400, f"{name} is {shown(value)}; expected an array of texts, one or more; correct it")
    return value


def _text_by_text(value: Any, name: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise Refused(400, f"{name} is {shown(value)}; expected an object of texts; correct it")
    return dict(value)
