"""Is a turn without tools, in everything that leaves the platform, what it was before there were tools? GW-12.

Judged against a golden document that was written once and is frozen: what each channel holds, with `{name}` where the
turn's own words stand. Nothing of the feature is imported here, so a flag that leaks cannot hide behind itself. The
same comparison, made of a turn with tools, must find a difference in every channel; else it compares nothing.
Source: contract gateway, GW-12, ruling 10.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lasttick.checks.verdict import Verdict

ID = "GW-12"
CHANNELS = ("metadata", "wire", "arguments", "environment", "server", "model_tools")
EXPECTED = "expected what the golden document says (GW-12)"


@dataclass(frozen=True, slots=True)
class Sent:
    """What set the turn going. `org_id` None: no dispatch org; `run_id` None: a turn without a run."""

    conversation_id: str
    text: str
    channel: str
    org_id: str | None
    run_id: str | None


@dataclass(frozen=True, slots=True)
class Record:
    """What each channel held in one turn.

    `metadata`: of the AgentRun; None when there is none. `wire`: the body that the agent got, letter for letter.
    `arguments`: of the agent program, after its own command. `environment`: its whole one. `server`: the whole one of
    the `humanwork` server that it started; None when it started none. `model_tools`: the tool list of each request to
    the model. Environments may hold secrets: reasons tell names only.
    """

    metadata: Mapping[str, Any] | None
    wire: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    server: Mapping[str, str] | None = field(repr=False)
    model_tools: tuple[tuple[str, ...] | None, ...]


Turn: TypeAlias = tuple[Sent, Record]


@dataclass(frozen=True, slots=True)
class Golden:
    """The frozen document.

    `wire` is the body as text and `arguments` are the program's, with `{name}` for what the turn says.
    `environment`: names of the program's variables; `turn_environment`: those that say what the turn says, absent where
    it says nothing. `server`: the variables of the tool list and of the secret as the server finds them.
    """

    metadata: Mapping[str, str]
    wire: str
    arguments: tuple[str, ...]
    environment: tuple[str, ...]
    turn_environment: Mapping[str, str]
    server: Mapping[str, str]
    model_tools: tuple[str, ...]

    @classmethod
    def from_json(cls, text: str) -> Golden:
        """Raises ValueError when it is no such document."""
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ValueError(
                f"the golden document is no JSON: {error}; expected an object (checks.flag_off.Golden); take the "
                "document from version control"
            ) from error
        names = list(cls.__dataclass_fields__)
        if not isinstance(value, dict) or sorted(value) != sorted(names):
            raise ValueError(
                f"the golden document has {sorted(value) if isinstance(value, dict) else type(value).__name__}; "
                f"expected exactly {', '.join(names)} (checks.flag_off.Golden); take the document from version control"
            )
        lists = {name: tuple(value[name]) for name in ("arguments", "environment", "model_tools")}
        return cls(**{**value, **lists})


def as_off(golden: Golden, turns: Sequence[Turn]) -> Verdict:
    """Are all these turns as without tools, in every channel? Inconclusive when there are none."""
    if not turns:
        return Verdict(ID, "inconclusive", "no turn was compared")
    found = [
        f"turn {number}, {channel}: {reason}"
        for number, (sent, record) in enumerate(turns, 1)
        for channel, reason in differences(golden, sent, record).items()
    ]
    if found:
        return Verdict(ID, "fail", f"{'; '.join(found)}; {EXPECTED}")
    return Verdict(ID, "pass", "")


def unlike_off(golden: Golden, turns: Sequence[Turn]) -> Verdict:
    """Does the comparison find every one of these turns, which have tools, different in every channel?"""
    if not turns:
        return Verdict(ID, "inconclusive", "no turn was compared")
    blind = [
        f"turn {number}: {channel}"
        for number, (sent, record) in enumerate(turns, 1)
        for channel in CHANNELS
        if channel not in differences(golden, sent, record)
    ]
    if blind:
        return Verdict(ID, "fail", f"with tools no difference was seen in {', '.join(blind)}; expected one in each")
    return Verdict(ID, "pass", "")


def differences(golden: Golden, sent: Sent, record: Record) -> dict[str, str]:
    """Channel -> what is different in it; channels that are as they should be are absent."""
    found = {channel: _JUDGES[channel](golden, sent, record) for channel in CHANNELS}
    return {channel: reason for channel, reason in found.items() if reason is not None}


def _metadata(golden: Golden, sent: Sent, record: Record) -> str | None:
    wanted = None if sent.run_id is None else {name: _filled(text, sent) for name, text in golden.metadata.items()}
    return _unequal(record.metadata, wanted)


def _wire(golden: Golden, sent: Sent, record: Record) -> str | None:
    return _unequal(record.wire, _filled(golden.wire, sent, json.dumps))


def _arguments(golden: Golden, sent: Sent, record: Record) -> str | None:
    return _unequal(list(record.arguments), [_filled(text, sent) for text in golden.arguments])


def _environment(golden: Golden, sent: Sent, record: Record) -> str | None:
    said = {name: getattr(sent, word) for name, word in golden.turn_environment.items()}
    said = {name: value for name, value in said.items() if value is not None}
    names = _unequal(sorted(record.environment), sorted([*golden.environment, *said]))
    wrong = [name for name, value in said.items() if record.environment.get(name) != value]
    return names or (f"other values of {', '.join(wrong)}" if wrong else None)


def _server(golden: Golden, sent: Sent, record: Record) -> str | None:
    if record.server is None:
        return "the server was not started, so its environment can not be told"
    wrong = [name for name, value in golden.server.items() if record.server.get(name) != value]
    return f"other values of {', '.join(wrong)}" if wrong else None


def _model_tools(golden: Golden, sent: Sent, record: Record) -> str | None:
    if not record.model_tools:
        return "the model was not asked"
    unlike = [tools for tools in record.model_tools if tools != golden.model_tools]
    return _unequal(list(unlike[0] or ()), list(golden.model_tools)) if unlike else None


_JUDGES: Mapping[str, Callable[[Golden, Sent, Record], str | None]] = {
    "metadata": _metadata,
    "wire": _wire,
    "arguments": _arguments,
    "environment": _environment,
    "server": _server,
    "model_tools": _model_tools,
}


def _filled(template: str, sent: Sent, written: Callable[[Any], str] = str) -> str:
    """The template with the turn's words in it. In one pass: a text of the turn may look like a placeholder."""
    out, rest = "", template
    while rest:
        at, name = min(((rest.find(f"{{{name}}}"), name) for name in _WORDS if f"{{{name}}}" in rest), default=(-1, ""))
        if at < 0:
            return out + rest
        out += rest[:at] + written(getattr(sent, name))
        rest = rest[at + len(name) + 2 :]
    return out


_WORDS = tuple(Sent.__dataclass_fields__)


def _unequal(was: Any, wanted: Any) -> str | None:
    return None if was == wanted else f"{was!r} instead of {wanted!r}"
