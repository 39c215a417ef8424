"""The laws that the tool gateway shows: green on our reference, red on the mutant that each is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios.laws.shapes import names_like, smuggled
from starlette.requests import Request
from starlette.responses import JSONResponse

from lasttick.laws.binding import with_beside
from lasttick.laws.wire.message import Message

from .playing import Ruled, all_laws
from .tool_server import ENVIRON, PROFILE, ToolServer
from .verdicts import judged, on_reference

LIMIT = "tools/class-limit"
LAWS = all_laws()


def on_gateway(law: str, mutant: str | None = None) -> Ruled:
    return on_reference(law, mutant, system="gateway")


def test_the_reference_passes() -> None:
    ruled = on_gateway(LIMIT)
    assert ruled.word == "pass", ruled
    assert "refund of agent, its name" in ruled.cases
    assert "refund of agent, upper case" in ruled.cases
    assert "refund of agent, in the arguments of get_order" in ruled.cases


@pytest.mark.parametrize(
    ("mutant", "reason"),
    [
        ("gateway/internal-door-allows-write", "refund is not for agent, and it happened all the same when called by"),
    ],
)
def test_a_mutant_is_red_with_its_reason(mutant: str, reason: str) -> None:
    ruled = on_gateway(LIMIT, mutant)
    assert ruled.word == "fail"
    assert reason in ruled.reason


@pytest.mark.parametrize(
    ("law", "mutant", "reason"),
    [
        ("tools/hidden-is-refused", "gateway/manifest-unchecked", "get_order is not for idle, and it happened"),
        ("tools/hidden-is-refused", "gateway/skill-unread", "get_order is not for idle, and it happened"),
        ("tools/refused-is-untouched", "gateway/manifest-after-executor", "answered as refused, and it happened"),
        ("tools/no-secret-out", "gateway/redaction-off", "LASTTICK_AGENT_SECRET, plain, in what log shows"),
    ],
)
def test_a_law_of_lists_and_secrets_is_red_with_its_reason(law: str, mutant: str, reason: str) -> None:
    assert on_gateway(law).word == "pass"
    ruled = on_gateway(law, mutant)
    assert ruled.word == "fail"
    assert reason in ruled.reason


def test_a_write_that_is_refused_to_all_shows_nothing() -> None:
    ruled = on_gateway(LIMIT, "gateway/runner-door-refuses-write")
    assert ruled.word == "inconclusive"
    assert "the allowed call before the refused one was not answered ok" in ruled.reason


@pytest.mark.parametrize(
    ("faults", "word"),
    [
        ((), "pass"),
        (("any-tool-for-all",), "fail"),
        (("refuses-and-does-it",), "fail"),
        (("refuses-all", "refuses-and-does-it"), "fail"),
        (("refuses-all",), "inconclusive"),
        (("does-nothing",), "inconclusive"),
    ],
)
def test_on_somebodys_tool_server(faults: tuple[str, ...], word: str) -> None:
    assert judged(LIMIT, ToolServer(*faults).app, PROFILE, ENVIRON).word == word


class Loose(ToolServer):
    """Takes `like` for a name of the tool paint from anybody, or the `action` of the body for the tool to call."""

    def __init__(self, *, like: str | None = None, by_action: bool = False) -> None:
        super().__init__()
        self._like = like
        self._by_action = by_action

    async def call(self, request: Request) -> JSONResponse:
        body, before = await request.json(), len(self.effects)
        tool = request.path_params["tool"]
        if tool == self._like:
            return self._do(body["mark"], "")
        answer = await super().call(request)
        for effect in self.effects[before:]:
            effect["tool"] = body.get("action", tool) if self._by_action else tool
        return answer


WITH_TOOL = PROFILE.replace('out = { mark = "/mark" }', 'out = { mark = "/mark", tool = "/tool" }')


@pytest.mark.parametrize(
    ("like", "what"),
    [("PAINT", "upper case"), ("paint ", "blank after"), ("look,paint", "list"), ("\uff50aint", "wide letter")],
)
def test_a_name_that_is_nearly_the_same_is_tried(like: str, what: str) -> None:
    ruled = judged(LIMIT, Loose(like=like).app, PROFILE, ENVIRON)
    assert ruled.word == "fail"
    assert f"it happened all the same when called by {what}" in ruled.reason


def test_an_action_in_the_arguments_is_tried_where_effects_say_which_tool_it_was() -> None:
    case = "paint of bob, in the arguments of look"
    assert case in judged(LIMIT, Loose().app, WITH_TOOL, ENVIRON).cases
    assert case not in judged(LIMIT, Loose().app, PROFILE, ENVIRON).cases
    ruled = judged(LIMIT, Loose(by_action=True).app, WITH_TOOL, ENVIRON)
    assert ruled.word == "fail"
    assert "as an action in the arguments of a read" in ruled.reason


def test_who_may_use_nothing_is_not_limited_to_reads() -> None:
    ruled = judged(LIMIT, ToolServer().app, PROFILE.replace('may = ["look"]', "may = []"), ENVIRON)
    assert (ruled.word, ruled.reason[:33]) == ("not_applicable", "needs a caller who is limited: wi")


@given(tool=st.text(min_size=1, max_size=20), read=st.text(min_size=1, max_size=20))
def test_shapes_of_a_name_are_distinct_and_begin_with_the_name(tool: str, read: str) -> None:
    shapes = names_like(tool, read)
    assert len({*shapes.values()}) == len(shapes)
    assert read not in shapes.values()
    assert tool == read or next(iter(shapes.items())) == ("its name", tool)


def test_parts_of_a_long_name_are_joined_otherwise() -> None:
    shapes = names_like("up__ltwrite", "up__ltread")
    assert shapes["without its namespace"] == "ltwrite"
    assert shapes["parts joined by /"] == "up/ltwrite"
    assert "parts joined by __" not in shapes


def test_more_arguments_are_beside_those_of_the_binding_at_every_depth() -> None:
    message = Message("http", "POST /x", json={"action": "look", "input": [{"mark": "m"}]})
    more = with_beside(message, smuggled("paint")).json
    assert (more["action"], more["tool"], more["input"][0]["action"]) == ("look", "paint", "paint")
    assert more["input"][0]["mark"] == "m"
    assert with_beside(Message("tool", "x", args={"tool": "a"}), {"tool": "b", "n": 1}).args == {"tool": "a", "n": 1}
    assert with_beside(Message("http", "GET /x", query={"q": 1}), {"q": 2, "n": 1}).query == {"q": 1, "n": 1}
