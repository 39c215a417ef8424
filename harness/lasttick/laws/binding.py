"""A binding with names becomes a message; a reply becomes outputs. Pure. Source: contract laws, "Binding"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lasttick.laws.conditions import matches
from lasttick.laws.profiles.problems import did_you_mean
from lasttick.laws.profiles.profile import Binding, Outcome, Poll, Profile, Reach
from lasttick.laws.reply import NotFound, Reply, find
from lasttick.laws.said import Mark
from lasttick.laws.templates import UnknownName, fill, fill_path, names_in
from lasttick.laws.verdict import NotShown
from lasttick.laws.wire.message import Message

DURATIONS = ("ttl", "timeout", "hold", "seconds")
SENT = {"tool", "args", "meta", "http", "query", "headers", "json_", "form", "run", "env", "stdin", "python"}


@dataclass(frozen=True, slots=True)
class Way:
    """How one verb is sent: its binding with `same` followed, the verb that leads to, and whether it places a mark."""

    binding: Binding
    origin: str
    marked: bool


def way_of(profile: Profile, verb: str, route: str | None) -> Way | None:
    """None: not bound. Raises KeyError for no verb at all."""
    binding = profile.reach(verb, route)
    if binding is None:
        return None
    return Way(binding, profile.stands_for(verb, route), wants_mark(binding))


def inputs_as_names(inputs: Mapping[str, Any], mark: Mark | None) -> dict[str, Any]:
    """Inputs under the names that templates use: durations as `{ttl_s}` and, in whole milliseconds, `{ttl_ms}`."""
    names: dict[str, Any] = {}
    for name, value in inputs.items():
        if name in DURATIONS:
            names[f"{name}_s"] = value
            names[f"{name}_ms"] = round(value * 1000)
        else:
            names[name] = value
    if mark is not None:
        names |= {"mark": mark.text, "mark_number": mark.number}
    return names


def wants_mark(binding: Reach) -> bool:
    return not {"mark", "mark_number"}.isdisjoint(names_wanted(binding))


def names_wanted(binding: Reach) -> tuple[str, ...]:
    """The names in the templates of what is sent."""
    return tuple(names_in(binding.model_dump(include=SENT)))


def message_of(
    binding: Reach, names: Mapping[str, Any], verb: str, timeout_s: float, hold_s: float = 0.0
) -> Message | None:
    """None for a binding without a way of its own: the kind of the target has that verb by itself.

    A call that lasts at the resource may take that much longer. Raises NotShown for a name that nothing put out.
    """
    limit_s = (binding.timeout_s or timeout_s) + hold_s
    try:
        if binding.tool is not None:
            return Message(
                "tool",
                str(fill(binding.tool, names)),
                args=fill(binding.args, names),
                meta=fill(binding.meta, names),
                timeout_s=limit_s,
            )
        if binding.http is not None:
            method, _, path = binding.http.partition(" ")
            return Message(
                "http",
                f"{method} {fill_path(path.strip(), names)}",
                query=fill(binding.query, names),
                headers=fill(binding.headers, names),
                json=fill(binding.json_, names),
                form=None if binding.form is None else fill(binding.form, names),
                timeout_s=limit_s,
            )
        if binding.run is not None:
            return Message(
                "run",
                "",
                argv=[str(fill(part, names)) for part in binding.run],
                env=fill(binding.env, names),
                stdin=None if binding.stdin is None else str(fill(binding.stdin, names)),
                timeout_s=limit_s,
            )
        if binding.python is not None:
            return Message("python", binding.python, args=fill(binding.args, names), timeout_s=limit_s)
    except UnknownName as error:
        # The loader has seen that something puts it out, or gives it: here it was not said yet.
        raise NotShown(
            f"{verb}: {{{error.name}}} has no value here: nothing that was said before has put it out\n"
            f"  expected: one of {', '.join(error.known)} (docs/check.md, Templates)\n"
            f"  next: {did_you_mean(error.name, error.known, f'put {error.name} out of a verb that comes before')}"
        ) from error
    return None


def with_beside(message: Message, beside: Mapping[str, Any]) -> Message:
    """The same message with more arguments: in a tool's, a form, every object of a JSON body, or else the query.

    What is there stays.
    """
    more = dict(beside)
    return replace(
        message,
        args={**more, **message.args} if message.kind == "tool" else message.args,
        json=_with(message.json, more),
        form=None if message.form is None else {**more, **message.form},
        query={**more, **message.query} if message.json is None and message.form is None else message.query,
    )


def _with(value: Any, more: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {**more, **{name: _with(part, more) for name, part in value.items()}}
    return [_with(part, more) for part in value] if isinstance(value, list) else value


def outputs(out: Mapping[str, str], reply: Reply) -> tuple[dict[str, Any], dict[str, NotFound]]:
    """What the pointers find, and why the others find nothing, both by name."""
    document = reply.document()
    found: dict[str, Any] = {}
    missing: dict[str, NotFound] = {}
    for name, pointer in out.items():
        try:
            found[name] = find(document, pointer)
        except NotFound as error:
            missing[name] = error
    return found, missing


def is_decided(poll: Poll, reply: Reply, outcome: Outcome) -> bool:
    """Whether a reading is the last one: a condition of `until` holds, or it is refused."""
    return outcome in ("denied", "busy") or any(matches(condition, reply.document()) for condition in poll.until)


def row(binding: Binding, element: Any) -> dict[str, Any]:
    """One element of a list; an output that is not in this element is left out. A state gets its common name."""
    found: dict[str, Any] = {}
    for name, pointer in binding.out.items():
        try:
            found[name] = find(element, pointer)
        except NotFound:
            continue
    for name in ("state", "held"):
        if name in found:
            found[name] = common_state(binding, found[name])
    return found


def common_state(binding: Binding, value: Any) -> Any:
    """`states = { held = ["busy"] }`: "busy" is read as "held"; a value that is in no list stays as it is."""
    for common, values in binding.states.items():
        if value in values:
            return common
    return value
