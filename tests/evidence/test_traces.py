"""Trace files: chained lines at a path that no parameter of a scenario can lead astray."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.trace import Trace, link_of, split_link
from lasttick.evidence import EvidenceError, RunFolder, TraceExamples, read_trace, trace_path
from lasttick.evidence.traces import write_trace


def test_paths_read_like_the_id() -> None:
    assert str(trace_path("hostagent/lease/free-at-ttl")) == "traces/hostagent/lease/free-at-ttl.jsonl"
    assert str(trace_path("hostagent/door/header[row-3]")) == "traces/hostagent/door/header.row-3.jsonl"


@pytest.mark.parametrize(
    "hostile", ["../../x", "/etc/passwd", "", ".", "a" * 500, "a\0b", "\ud800", "[[]]", "a b", "é"]
)
def test_a_parameter_never_leads_out(hostile: str) -> None:
    path = trace_path(f"hostagent/x/y[{hostile}]")
    assert path.parent == PurePosixPath("traces/hostagent/x")
    assert path.name.isascii()
    assert len(path.name) < 120
    assert trace_path(hostile).parts[0] == "traces"
    assert ".." not in trace_path(hostile).parts


@given(st.text(max_size=12), st.text(max_size=12))
def test_two_scenarios_never_share_a_file(one: str, other: str) -> None:
    if one != other:
        assert trace_path(f"a/b[{one}]") != trace_path(f"a/b[{other}]")


def test_a_trace_is_chained_and_comes_back(tmp_path: Path) -> None:
    trace = Trace()
    trace.emit("alice", "call.start", "c1", t_ns=5, tool="tap", text="\ud800 \u2028 é")
    trace.emit("alice", "call.end", "c1", t_ns=9, ok=True)
    relative = RunFolder(tmp_path).write_trace("a/b/c[1]", trace.events)
    assert relative == "traces/a/b/c.1.jsonl"
    assert read_trace(tmp_path / relative) == trace.events
    link = ""
    for line in (tmp_path / relative).read_text().splitlines():
        body, written = split_link(line)
        link = link_of(link, body)
        assert written == link


@pytest.mark.parametrize(
    ("text", "says"), [("{}\n", "line 1: KeyError"), ("nothing\n", "line 1"), ('{"v": 9}\n', "upgrade lasttick")]
)
def test_a_damaged_trace_says_where(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(EvidenceError, match=says):
        read_trace(path)


def test_a_missing_trace(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="can not be read"):
        read_trace(tmp_path / "none.jsonl")


def test_examples_are_parsed_when_they_are_asked_for(tmp_path: Path) -> None:
    trace = Trace()
    trace.emit("host", "part.start", None, note='"kind":"example"', nested={"kind": "example"})
    for number in (1, 2):
        trace.emit("harness", "example", None, number=number)
        trace.emit("alice", "call.start", "c1", tool="tap")
    path = tmp_path / write_trace(tmp_path, "a/b/c", trace.events)
    examples = TraceExamples(path)
    assert [[event.kind for event in examples.events(index)] for index in range(len(examples))] == [
        ["part.start"],
        ["example", "call.start"],
        ["example", "call.start"],
    ]
    path.write_text(path.read_text().replace('"call.start"', "?"))
    assert len(TraceExamples(path)) == 3
    with pytest.raises(EvidenceError, match="line 3: "):
        TraceExamples(path).events(1)
