"""One answer to each permission, and yes only after a click: the check on histories made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.checks import STANDING, once_only, standing
from lasttick.engine.trace import Event

OPTIONS = [
    {"optionId": "allow_once", "name": "Allow edit", "kind": "allow_once"},
    {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
]
ACTIONS = [{"id": "action_01", "label": "Allow edit"}, {"id": "action_02", "label": "Deny"}]


class Story:
    """One agent process, asked and answered by hand. Each event is a second after the one before."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.begin()

    def see(self, kind: str, actor: str, way: str, frame: Any) -> Story:
        number = len(self.events)
        data = {"way": way, "frame": frame}
        self.events.append(Event(number, number * 1_000_000_000, "", actor, kind, None, data))
        return self

    def begin(self) -> Story:
        return self.see("agent.frame", "agent", "to", {"id": 0, "method": "initialize", "params": {}})

    def ask(self, rpc_id: Any = 0, options: Any = OPTIONS) -> Story:
        params = {"sessionId": "S", "options": options}
        method = "session/request_permission"
        return self.see("agent.frame", "agent", "from", {"id": rpc_id, "method": method, "params": params})

    def show(self, call_id: str = "call_1", conversation_id: str = "default", **data: Any) -> Story:
        group = {"mode": "single-choice", "actions": ACTIONS}
        payload = {"call_id": call_id, "tool": "choice", "data": {"action_group": group, "subject": {}, **data}}
        frame = {"type": "lineup.v1.tool.call", "conversation_id": conversation_id, "payload": payload}
        return self.see("host.frame", "host", "got", frame)

    def click(self, action: Any, call_id: str = "call_1", status: str = "completed", **more: Any) -> Story:
        result = {"action_id": action} if isinstance(action, str) else action
        payload = {"call_id": call_id, "status": status, "result": result}
        return self.see("host.frame", "host", "sent", {"type": "lineup.v1.tool.result", "payload": payload, **more})

    def answer(self, option_id: str | None, rpc_id: Any = 0) -> Story:
        outcome = {"outcome": "cancelled"} if option_id is None else {"outcome": "selected", "optionId": option_id}
        return self.see("agent.frame", "agent", "to", {"id": rpc_id, "result": {"outcome": outcome}})

    def example(self) -> Story:
        self.events.append(Event(len(self.events), 0, "", "harness", "example", None, {}))
        return self


@pytest.mark.parametrize(
    "story",
    [
        Story().ask().show().click("action_01").answer("allow_once"),
        Story().ask().show().click({"action_ids": ["action_01"]}).answer("allow_once"),
        Story().ask().show().answer(None),
        Story().ask().show().answer("deny"),
        Story().ask().show().click("action_01"),
        Story().ask(0).ask("0").answer(None, 0).answer(None, "0"),
        Story().ask().show().answer(None).begin().ask().answer(None),
        Story().ask().answer(None).example().begin().ask().answer(None),
        Story().ask().show().click("action_01").click("action_01").answer("allow_once"),
    ],
    ids=["yes", "as a list", "cancelled", "no", "not yet", "0 is not '0'", "epochs", "examples", "clicked twice"],
)
def test_what_holds(story: Story) -> None:
    assert once_only(story.events).verdict == "pass"


@pytest.mark.parametrize(
    ("story", "what"),
    [
        (Story().ask().answer(None).answer(None), "second answer"),
        (Story().ask().show().click("action_02").answer("allow_once"), "clicked on 0 cards"),
        (Story().ask().show().answer("allow_once").click("action_01"), "clicked on 0 cards"),
        (Story().ask().show().click("action_01", status="cancelled").answer("allow_once"), "clicked on 0 cards"),
        (Story().ask().show().click("action_01", "call_2").answer("allow_once"), "clicked on 0 cards"),
        (Story().ask().show().click("action_01", conversation_id="b").answer("allow_once"), "clicked on 0 cards"),
        (Story().ask().show().click({"action_ids": ["action_01", "x"]}).answer("allow_once"), "clicked on 0 cards"),
        (
            Story().ask(0).show("c1").ask(1).show("c2").click("action_01", "c1").answer("allow_once", 0)
            .click("action_01", "c1").answer("allow_once", 1),
            "clicked on 1 cards",
        ),
        (Story().ask().show().click("action_01").answer("allow_always"), "does not offer"),
        (Story().show().click("action_01").answer("allow_once", 7), "does not offer"),
        (Story().ask(options=None).show().click("action_01").answer("allow_once"), "does not offer"),
    ],
    ids=[
        *["twice", "another action", "before the click", "dismissed", "no card", "another conversation", "two at once"],
        *["one click for two", "not offered", "not asked", "no options"],
    ],
)  # fmt: skip
def test_what_does_not(story: Story, what: str) -> None:
    verdict = once_only(story.events)
    assert verdict.verdict == "fail"
    assert what in verdict.reason
    assert "(LU-08)" in verdict.reason


def test_a_story_without_permissions_or_with_two_adapters_is_not_judged() -> None:
    assert once_only(Story().show().events).verdict == "not_applicable"
    two = Story().ask().show().see("host.frame", "host-2", "got", {}).answer("allow_once")
    assert once_only(two.events).verdict == "not_applicable"


def test_a_frame_that_is_no_object_is_passed_over() -> None:
    story = Story().ask().see("agent.frame", "agent", "from", "half a l").see("host.frame", "host", "got", [1])
    assert once_only(story.answer(None).events).verdict == "pass"


def test_it_judges_every_trace_in_which_a_host_was() -> None:
    assert standing(Story().ask().show().events) == (*STANDING, once_only)
    assert standing(Story().ask().events) == STANDING
