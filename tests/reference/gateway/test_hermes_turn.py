"""A readable request becomes one run of the program; everything else a refusal, before any program starts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lasttick.ports import Finished
from lasttick.reference.gateway.hermes_turn import ARGUMENT_BYTES_MAX, Turn, last_line, read_turn, take_turn
from lasttick.reference.gateway.http_json import Refused

PLAIN: dict[str, Any] = {"conversation_id": "c-1", "text": "where is A-1?", "org_id": "org-a", "run_id": "run-1"}
TOOLS = {**PLAIN, "toolsets": ["humanwork"], "mcp_tools": ["order_lookup:lookup", "shop:get_order"]}
CONTAINER = {
    "PATH": "/usr/bin",
    "HOME": "/home/agent",
    "AGENT_SERVICE_SECRET": "sekret",
    "PLATFORM_API_TOKEN": "token",
    "HUMANWORK_MCP_TOOLS": "stale:list",
    "HUMANWORK_RUN_ID": "stale",
    "PLATFORM_API_URL": "http://stale",
}


class Program:
    """Notes how it was started."""

    def __init__(self, finished: Finished | BaseException) -> None:
        self.finished = finished
        self.runs: list[tuple[list[str], dict[str, str]]] = []

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        self.runs.append((list(argv), dict(env)))
        if isinstance(self.finished, BaseException):
            raise self.finished
        return self.finished


def take(program: Program, body: Mapping[str, Any]) -> str:
    return asyncio.run(take_turn(program, ["hermes"], CONTAINER, "http://platform", read_turn(body)))


def test_a_turn_with_tools() -> None:
    program = Program(Finished(0, "Warning: x\n\nit is on its way\n\n", "session_id: 1\n"))
    assert take(program, TOOLS) == "it is on its way"
    assert program.runs == [
        (
            ["hermes", "chat", "-Q", "-t", "humanwork", "-q", "where is A-1?"],
            {
                "PATH": "/usr/bin",
                "HOME": "/home/agent",
                "PLATFORM_API_URL": "http://platform",
                "HUMANWORK_ORG_ID": "org-a",
                "HUMANWORK_RUN_ID": "run-1",
                "HUMANWORK_MCP_TOOLS": "order_lookup:lookup,shop:get_order",
                "AGENT_SERVICE_SECRET": "sekret",
            },
        )
    ]


@pytest.mark.parametrize("body", [PLAIN, {**PLAIN, "toolsets": [], "mcp_tools": []}])
def test_a_turn_without_tools_has_neither_secret_nor_toolset(body: Mapping[str, Any]) -> None:
    program = Program(Finished(0, "yes\n", ""))
    take(program, body)
    [(argv, env)] = program.runs
    assert argv == ["hermes", "chat", "-Q", "-q", "where is A-1?"]
    assert sorted(env) == ["HOME", "HUMANWORK_ORG_ID", "HUMANWORK_RUN_ID", "PATH", "PLATFORM_API_URL"]


def test_a_turn_without_a_run_names_none() -> None:
    program = Program(Finished(0, "yes\n", ""))
    take(program, {**PLAIN, "org_id": None, "run_id": None})
    assert sorted(program.runs[0][1]) == ["HOME", "PATH", "PLATFORM_API_URL"]


@pytest.mark.parametrize(
    ("finished", "status", "code"),
    [
        (Finished(0, "", "sekret"), 502, "PROGRAM_SILENT"),
        (Finished(0, "\n \n\t\n", ""), 502, "PROGRAM_SILENT"),
        (Finished(1, "sekret\n", "sekret"), 502, "PROGRAM_FAILED"),
        (Finished(-9, "sekret\n", ""), 502, "PROGRAM_FAILED"),
        (TimeoutError("sekret"), 504, "PROGRAM_TIMEOUT"),
        (FileNotFoundError(2, "sekret"), 502, "PROGRAM_MISSING"),
        (PermissionError(13, "sekret"), 502, "PROGRAM_MISSING"),
    ],
)
def test_a_program_in_trouble_is_a_refusal_without_its_words(
    finished: Finished | BaseException, status: int, code: str
) -> None:
    with pytest.raises(Refused) as refused:
        take(Program(finished), TOOLS)
    assert (refused.value.refusal.status, refused.value.refusal.code) == (status, code)
    assert "sekret" not in refused.value.refusal.message


def test_what_is_read_of_the_wire() -> None:
    assert read_turn(TOOLS) == Turn("c-1", "where is A-1?", "org-a", "run-1", ("order_lookup:lookup", "shop:get_order"))
    assert read_turn({**PLAIN, "mcpTools": ["a:b"], "more": 1}).mcp_tools == (), "only snake_case is the wire"
    assert read_turn({"conversation_id": "c", "text": "t"}) == Turn("c", "t", None, None, ())


@pytest.mark.parametrize(
    "changed",
    [
        {"conversation_id": None},
        {"conversation_id": ""},
        {"conversation_id": 7},
        {"text": ""},
        {"text": ["a"]},
        {"text": "a\x00b"},
        {"text": "a\ud800"},
        {"text": "é" * (ARGUMENT_BYTES_MAX // 2 + 1)},
        {"org_id": ""},
        {"org_id": " "},
        {"org_id": 7},
        {"org_id": "a\x00"},
        {"org_id": "\udfff"},
        {"org_id": None},
        {"run_id": ""},
        {"run_id": ["run-1"]},
        {"run_id": None},
        {"toolsets": []},
        {"toolsets": "humanwork"},
        {"toolsets": ["terminal"]},
        {"toolsets": ["humanwork", "terminal"]},
        {"toolsets": ["humanwork", "humanwork"]},
        {"toolsets": [["humanwork"]]},
        {"toolsets": None},
        {"mcp_tools": []},
        {"mcp_tools": "order_lookup:lookup"},
        {"mcp_tools": [7]},
        {"mcp_tools": {"order_lookup:lookup": 1}},
        {"mcp_tools": None},
        {"mcp_tools": ["a:b" * 1, *(f"t{n}:{'a' * 60}" for n in range(3_000))]},
    ],
)
def test_a_request_that_is_no_turn_is_400_and_starts_nothing(changed: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        read_turn({**TOOLS, **changed})
    assert (refused.value.refusal.status, refused.value.refusal.code) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["order_lookup"], "'order_lookup' names no tool action"),
        (["order_lookup.lookup"], "names no tool action"),
        ([""], "names no tool action"),
        (["a:b,c:d"], "names no tool action"),
        (["a:b", "a b:c"], "names no tool action"),
        (["a-b:c", "a_b:c"], "'a-b:c' and 'a_b:c'"),
    ],
)
def test_names_that_the_program_could_not_keep_apart_are_refused(pairs: list[str], said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        read_turn({**TOOLS, "mcp_tools": pairs})
    assert (refused.value.refusal.status, refused.value.refusal.code) == (400, "BAD_TOOL_NAMES")


def test_the_longest_text_is_taken() -> None:
    assert read_turn({**PLAIN, "text": "a" * ARGUMENT_BYTES_MAX}).run_id == "run-1"


@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        ("a", "a"),
        ("a\nb\n", "b"),
        ("a\r\n\r\n", "a"),
        ("a\nb\u2028c\x0bd\n", "b\u2028c\x0bd"),
        ("warning\n  the answer  \n \n", "the answer"),
        ("", None),
        ("\n", None),
    ],
)
def test_the_last_line_that_says_something(stdout: str, answer: str | None) -> None:
    assert last_line(stdout) == answer
