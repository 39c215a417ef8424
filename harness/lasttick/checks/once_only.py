"""Did the agent hear one answer to each permission, and yes only where a person had clicked it? (LU-08)

Judged from the two ends: the frames on the agent's pipes and those on the host's link. What the adapter says of itself
is not asked. A permission's card does not name the request, so a yes is matched by the option's name: at every instant,
no more answers with that option than cards that were clicked so by their own conversation. That an answer comes at all
is for scenarios to say, which know who died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lasttick.checks.history import split_examples
from lasttick.checks.verdict import Verdict
from lasttick.engine.trace import Event
from lasttick.model.lineup.cards import LABEL_CHARS_MAX
from lasttick.model.lineup.frames import TOOL_CALL, TOOL_RESULT
from lasttick.model.lineup.records import DEFAULT_CONVERSATION
from lasttick.model.lineup.subjects import cut, visible

ID = "LU-08"
AGENT, HOST = "agent.frame", "host.frame"
EXPECTED = "expected one answer to each permission, and an allowing one only after a person's click (LU-08)"


def once_only(events: Iterable[Event]) -> Verdict:
    """LU-08 over a whole trace. Not applicable when no permission was asked, or where two adapters are in one story."""
    asked = 0
    for example in split_examples(events):
        if len({event.actor for event in example if event.kind == HOST}) > 1:
            return Verdict(ID, "not_applicable", "two adapters in one story: their agents' frames are not told apart")
        story = _Story()
        for event in example:
            problem = story.see(event)
            if problem is not None:
                return Verdict(ID, "fail", f"{problem}; {EXPECTED}", event.t_s)
        asked += len(story.options)
    return Verdict(ID, "pass", "") if asked else Verdict(ID, "not_applicable", "no permission was asked")


class _Story:
    """One example so far. An agent process begins with its `initialize`, and counts its ids anew."""

    def __init__(self) -> None:
        self.run = 0
        self.options: dict[tuple[int, str], dict[str, Mapping[str, Any]]] = {}
        """By request: the options that it offers, by id."""
        self._answered: dict[tuple[int, str], None] = {}
        self._allowed: dict[str, int] = {}
        """By label: how often the agent was told so."""
        self._labels: dict[tuple[str, str], dict[str, str]] = {}
        """By conversation and call: the actions of a permission's card."""
        self._clicked: dict[str, dict[str, None]] = {}
        """By label: the calls."""

    def see(self, event: Event) -> str | None:
        """What is wrong with it."""
        frame = event.data.get("frame")
        if event.kind not in (AGENT, HOST) or not isinstance(frame, Mapping):
            return None
        if event.kind == HOST:
            self._host(event.data["way"], frame)
            return None
        if event.data["way"] == "to":
            return self._to_agent(frame)
        if frame.get("method") == "session/request_permission" and "id" in frame:
            self._asked(repr(frame["id"]), frame.get("params"))
        return None

    def _asked(self, rpc_id: str, params: Any) -> None:
        offered = params.get("options") if isinstance(params, Mapping) else None
        options = [one for one in offered if isinstance(one, Mapping)] if isinstance(offered, list) else []
        self.options.setdefault((self.run, rpc_id), {str(one.get("optionId")): one for one in options})

    def _to_agent(self, frame: Mapping[str, Any]) -> str | None:
        if frame.get("method") == "initialize":
            self.run += 1
        result = frame.get("result")
        outcome = result.get("outcome") if isinstance(result, Mapping) else None
        if "method" in frame or not isinstance(outcome, Mapping):
            return None
        key = (self.run, repr(frame.get("id")))
        if key in self._answered:
            return f"permission {key[1]} got a second answer, {_told(outcome)}"
        self._answered[key] = None
        return self._selected(key, outcome) if outcome.get("outcome") == "selected" else None

    def _selected(self, key: tuple[int, str], outcome: Mapping[str, Any]) -> str | None:
        option = self.options.get(key, {}).get(str(outcome.get("optionId")))
        if option is None:
            return f"permission {key[1]} was answered {_told(outcome)}, which it does not offer"
        if not str(option.get("kind")).startswith("allow"):
            return None
        label = cut(visible(str(option.get("name"))), LABEL_CHARS_MAX)[0]
        self._allowed[label] = self._allowed.get(label, 0) + 1
        clicked = len(self._clicked.get(label, {}))
        if self._allowed[label] <= clicked:
            return None
        return f"permission {key[1]} was answered {_told(outcome)}, but {label!r} was clicked on {clicked} cards so far"

    def _host(self, way: str, frame: Mapping[str, Any]) -> None:
        payload = frame.get("payload")
        if not isinstance(payload, Mapping):
            return
        key = (str(frame.get("conversation_id", DEFAULT_CONVERSATION)), str(payload.get("call_id")))
        if way == "got" and frame.get("type") == TOOL_CALL and "subject" in payload["data"]:
            self._labels[key] = {one["id"]: one["label"] for one in payload["data"]["action_group"]["actions"]}
        elif way == "sent" and frame.get("type") == TOOL_RESULT and payload.get("status") == "completed":
            label = self._labels.get(key, {}).get(_action(payload.get("result")))
            if label is not None:
                self._clicked.setdefault(label, {})[key[1]] = None


def _action(result: Any) -> str:
    """The one action that a result names, in either way of saying it; "": none."""
    if not isinstance(result, Mapping):
        return ""
    many = result.get("action_ids")
    return str(many[0] if isinstance(many, list) and len(many) == 1 else result.get("action_id", ""))


def _told(outcome: Mapping[str, Any]) -> str:
    return repr(outcome.get("optionId", outcome.get("outcome")))
