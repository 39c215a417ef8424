"""What does the scripted model say? A script is chosen by a word in the prompt, its step by what was said since.

The answer is a function of the messages, never of a counter, because an agent repeats requests after errors: the last
user message names the script (the script whose word stands last in it; `*` when there is none), and the number of
assistant messages after it is the step. A script that is over goes on with its last step.

`Say` may quote what was said: `{prompt}` is the newest prompt, `{result}` the text of the newest tool message,
`{results}` of all since the prompt, joined by blanks; `{last}` is the last word of the prompt, also in the arguments of
a `Call`, so that one script does what each of many prompts names. `Call` asks for tools by the names that the server
gave them: among the offered names it takes the same one, else the one that ends in `_` and that name (so one script
serves every version of the agent); if none or several fit, it asks for the name as it is, as a model that makes one up.
Source: contract hermes, section 6.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from lasttick_fakes.http_json import shown

ANY_PROMPT = "*"
LAST = "{last}"
STEPS_MAX = 100
PIECE_CHARS = 16


class BadScript(ValueError):
    """The script cannot be read. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Say:
    """A text, `after_s` seconds later. `reasoning` is sent before it, as models do that think aloud.

    A stream brings `piece_chars` characters at once, and the next piece `every_s` seconds later.
    """

    text: str
    reasoning: str = ""
    after_s: float = 0.0
    piece_chars: int = PIECE_CHARS
    every_s: float = 0.0

    def __post_init__(self) -> None:
        _check(isinstance(self.text, str), f"text is {shown(self.text)}; expected what the model says")
        _check(isinstance(self.reasoning, str), f"reasoning is {shown(self.reasoning)}; expected a text")
        whole = isinstance(self.piece_chars, int) and not isinstance(self.piece_chars, bool)
        _check(whole and self.piece_chars > 0, f"piece_chars is {shown(self.piece_chars)}; expected a number from 1")
        _check_seconds("after_s", self.after_s)
        _check_seconds("every_s", self.every_s)


@dataclass(frozen=True, slots=True)
class Call:
    """Tool calls in one message, `after_s` seconds later: (tool, arguments) each, in order. `text` is said first."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    after_s: float = 0.0
    text: str = ""

    def __post_init__(self) -> None:
        _check(isinstance(self.text, str), f"text is {shown(self.text)}; expected what the model says first")
        _check(len(self.calls) > 0, "a call step has no calls; expected at least one")
        for tool, arguments in self.calls:
            _check(isinstance(tool, str) and tool != "", f"tool is {shown(tool)}; expected the name of a tool")
            _check(isinstance(arguments, Mapping), f"arguments are {shown(arguments)}; expected an object")
        _check_seconds("after_s", self.after_s)

    @classmethod
    def one(cls, tool: str, /, after_s: float = 0.0, **arguments: Any) -> Call:
        return cls(((tool, arguments),), after_s)


Step: TypeAlias = Say | Call


@dataclass(frozen=True, slots=True)
class Script:
    """What the model does when `word` stands in the prompt. `helper`: for requests on the side, which have no tools."""

    word: str
    steps: tuple[Step, ...]
    helper: bool = False

    def __post_init__(self) -> None:
        _check(isinstance(self.helper, bool), f"helper is {shown(self.helper)}; expected true or false")
        only_says = all(isinstance(step, Say) for step in self.steps)
        _check(only_says or not self.helper, "a helper's script has a call; expected only say: it is offered no tools")
        _check(isinstance(self.word, str) and self.word != "", f"word is {shown(self.word)}; expected a text")
        _check(0 < len(self.steps) <= STEPS_MAX, f"{len(self.steps)} steps; expected 1 to {STEPS_MAX}")


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a conversation stands: the newest prompt, how often the model has spoken since, what tools said since."""

    prompt: str
    said: int
    results: tuple[str, ...] = field(default=())


def turn_of(messages: Sequence[Any]) -> Turn:
    """Read a request's messages. Odd ones count as nothing: an agent's mistake must not hide in a server error."""
    prompt, said, results = "", 0, list[str]()
    for message in messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        if role == "user":
            prompt, said, results = _text_of(message.get("content")), 0, []
        elif role == "assistant":
            said += 1
        elif role == "tool":
            results.append(_result_of(_text_of(message.get("content"))))
    return Turn(prompt, said, tuple(results))


def chosen(scripts: Mapping[str, Script], turn: Turn) -> Step | None:
    """The step to do; None when no script fits the prompt. Of words that end at one place the longest wins."""
    found = [(turn.prompt.rfind(word) + len(word), len(word), word) for word in scripts if word in turn.prompt]
    found = [place for place in found if place[2] != ANY_PROMPT]
    word = max(found)[2] if found else ANY_PROMPT
    if word not in scripts:
        return None
    steps = scripts[word].steps
    return steps[min(turn.said, len(steps) - 1)]


def spoken(step: Say, turn: Turn) -> str:
    """The text with prompt and tools' results filled in; results are one line each: an answer is its last line."""
    said = {
        "{prompt}": turn.prompt,
        "{result}": turn.results[-1] if turn.results else "",
        "{results}": " ".join(turn.results),
        LAST: _last_word(turn),
    }
    return _filled(step.text, said)


def asked_with(arguments: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """The arguments of a call with the prompt's last word filled in."""
    last = {LAST: _last_word(turn)}
    return {name: _filled(value, last) if isinstance(value, str) else value for name, value in arguments.items()}


def offered_name(tool: str, offered: Sequence[str]) -> str:
    """The name to ask for: see the module's text."""
    if tool in offered:
        return tool
    ending = [name for name in offered if name.endswith(f"_{tool}")]
    return ending[0] if len(ending) == 1 else tool


def parse_script(body: Mapping[str, Any]) -> Script:
    """`{"word", "steps": [step], "helper"?}`; a step is `{"say", "reasoning"?, "after_s"?, "piece_chars"?, "every_s"?}`
    or `{"call": [{"tool", "arguments"}], "after_s"?, "text"?}`.

    Raises BadScript.
    """
    known = sorted(name for name in body if name != "helper") == ["steps", "word"]
    _check(known, f"the script is {shown(dict(body))}; expected word and steps (and helper)")
    _check(isinstance(body["steps"], list), f"steps are {shown(body['steps'])}; expected a list")
    return Script(body["word"], tuple(_step(step) for step in body["steps"]), body.get("helper", False))


def as_json(script: Script) -> dict[str, Any]:
    """What `parse_script` reads."""
    steps: list[dict[str, Any]] = []
    for step in script.steps:
        rest = {field.name: getattr(step, field.name) for field in fields(step)}
        if isinstance(step, Say):
            steps.append({"say": rest.pop("text"), **rest})
        else:
            calls = [{"tool": tool, "arguments": dict(arguments)} for tool, arguments in rest.pop("calls")]
            steps.append({"call": calls, **rest})
    return {"word": script.word, "steps": steps, "helper": script.helper}


def _step(value: Any) -> Step:
    _check(isinstance(value, Mapping) and ("say" in value) != ("call" in value), _NO_STEP.format(shown(value)))
    known = _SAY if "say" in value else _CALL_STEP
    _check(all(name in known for name in value), _NO_STEP.format(shown(value)))
    rest = {name: value[name] for name in value if name not in ("say", "call")}
    if "say" in value:
        return Say(value["say"], **rest)
    calls = value["call"]
    well = isinstance(calls, list) and all(isinstance(call, Mapping) and sorted(call) == _CALL for call in calls)
    _check(well, _NO_STEP.format(shown(value)))
    return Call(tuple((call["tool"], call["arguments"]) for call in calls), **rest)


_SAY = ("say", "reasoning", "after_s", "piece_chars", "every_s")
_CALL_STEP = ("call", "after_s", "text")
_CALL = ["arguments", "tool"]
_NO_STEP = (
    f"a step is {{}}; expected say (and {', '.join(_SAY[1:])}), "
    f"or call as a list of tool and arguments (and {', '.join(_CALL_STEP[1:])})"
)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(?:prompt|results?|last)\}", lambda place: values.get(place[0], place[0]), text)


def _last_word(turn: Turn) -> str:
    words = turn.prompt.split()
    return words[-1].rstrip(".") if words else ""


def _check(well: bool, message: str) -> None:
    if not well:
        raise BadScript(f"{message}; correct the script")


def _check_seconds(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    _check(number and math.isfinite(value) and value >= 0, f"{name} is {shown(value)}; expected seconds from 0")


def _text_of(content: Any) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def _result_of(content: str) -> str:
    """What a tool said: the `result` or `error` text inside the agent's envelope, or the content as it is."""
    inner = content
    if content.startswith("<untrusted_tool_result") and content.endswith("</untrusted_tool_result>"):
        inner = content.partition("\n\n")[2].removesuffix("</untrusted_tool_result>")
    try:
        value, _ = json.JSONDecoder().raw_decode(inner)  # an agent may add a remark of its own behind it
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping):
        inner = next((value[name] for name in ("error", "result") if isinstance(value.get(name), str)), inner)
    return " ".join(inner.split())
