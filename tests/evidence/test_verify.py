"""What was changed is found, and told where: each way to touch a trace or a file of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.trace import linked_lines, trace_sha256
from lasttick.evidence import EvidenceError, verify_run
from lasttick.evidence.run_folder import RunFolder
from lasttick.evidence.sums import write_sums
from lasttick.evidence.verify import verify_trace

from .conftest import ID, events_of

EVENTS = events_of(overlap=True)
LINES = [line.encode() for line in linked_lines(EVENTS)]
SHA256 = trace_sha256(EVENTS)


def whole(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def said(data: bytes) -> list[tuple[int | None, str]]:
    return [(damage.line, damage.what) for damage in verify_trace(data, SHA256)]


def test_an_untouched_trace() -> None:
    assert said(whole(LINES)) == []


@given(st.data())
def test_any_changed_byte_is_found_in_its_line(data: st.DataObject) -> None:
    written = bytearray(whole(LINES))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    line = whole(LINES)[:place].count(b"\n") + 1
    found = verify_trace(bytes(written), SHA256)
    assert found
    assert found[0].line == line, found


def test_the_event_is_named() -> None:
    changed = [*LINES[:5], LINES[5].replace(b'"alice"', b'"alicf"'), *LINES[6:]]
    (damage,) = verify_trace(whole(changed), SHA256, file="traces/x.jsonl")
    assert str(damage) == (
        "traces/x.jsonl, line 6: this line was changed (event 5: driver.start d1 of phone-1 at t=0.000)"
    )


def test_a_changed_link() -> None:
    link = LINES[2][-18:-2]
    other = b"0" * 16
    assert said(whole([*LINES[:2], LINES[2].replace(link, other), *LINES[3:]])) == [
        (3, f"its link was changed; it was {link.decode()}")
    ]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("at", [0, 4])
def test_missing_lines(at: int, count: int) -> None:
    gone = f"event {at} is" if count == 1 else f"events {at} to {at + count - 1} are"
    assert said(whole([*LINES[:at], *LINES[at + count :]])) == [(at + 1, f"{gone} missing before this line")]


def test_missing_at_the_end() -> None:
    ((line, what),) = said(whole(LINES[:-2]))
    assert line == len(LINES) - 2
    assert "lines after it are missing" in what


@pytest.mark.parametrize("extra", [[LINES[3]], [LINES[3], LINES[3]], [b"{}"], [b""], [b"no json"]])
def test_added_lines(extra: list[bytes]) -> None:
    what = "this line was added" if len(extra) == 1 else f"{len(extra)} lines from here on were added"
    assert said(whole([*LINES[:5], *extra, *LINES[5:]])) == [(6, what)]


def test_a_line_added_at_the_end() -> None:
    ((line, _),) = said(whole([*LINES, LINES[-1]]))
    assert line == len(LINES) + 1


def test_reordered_lines() -> None:
    swapped = [*LINES[:4], LINES[5], LINES[4], *LINES[6:]]
    assert said(whole(swapped)) == [(5, "lines 5 to 6 are in another order; here belongs event 4")]


def test_a_file_that_is_cut_off() -> None:
    data = whole(LINES)
    assert said(data[:-30]) == [(len(LINES), "the file is cut off in this line")]
    assert said(data[:-1]) == [(len(LINES), "the line end is missing")]


def test_nothing_left() -> None:
    ((line, what),) = said(b"")
    assert line is None
    assert "missing" in what


def test_two_changes_are_two_findings() -> None:
    changed = list(LINES)
    for index in (1, 6):
        changed[index] = changed[index].replace(b'"tool":"tap"', b'"tool":"tip"')
    assert [line for line, _ in said(whole(changed))] == [2, 7]


def test_a_whole_run(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    seen = verify_run(folder)
    assert (seen.traces, seen.events, seen.damages) == (1, 7, [])


@pytest.mark.parametrize("name", ["manifest.json", "catalogue.json", "verdicts.json", "junit.xml"])
def test_every_other_file_is_sealed(make_run: Callable[..., Path], name: str) -> None:
    folder = make_run()
    path = folder / name
    path.write_bytes(
        path.read_bytes().replace(b"7", b"8").replace(b"hostagent", b"hostagemt").replace(b"most", b"mist")
    )
    assert [damage.file for damage in verify_run(folder).damages][:1] == [name]
    path.unlink()
    if name != "verdicts.json":
        assert [(damage.file, damage.what) for damage in verify_run(folder).damages] == [(name, "the file is missing")]


def test_the_seal_itself(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    (folder / "SHA256SUMS").write_text("no sum\n")
    assert [damage.file for damage in verify_run(folder).damages] == ["SHA256SUMS"]


def test_what_a_scenario_left_behind_is_sealed(make_run: Callable[..., Path]) -> None:
    run = RunFolder(make_run())
    picture = run.artifacts(ID) / "board.png"
    assert picture.relative_to(run.path).as_posix() == "artifacts/hostagent/lease/story/board.png"
    assert run.artifacts_of(ID) == ()
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"a picture")
    assert [(damage.file, damage.what) for damage in verify_run(run.path).damages] == [
        ("artifacts/hostagent/lease/story/board.png", "no sum speaks of this file")
    ]
    write_sums(run.path)
    assert run.artifacts_of(ID) == ("artifacts/hostagent/lease/story/board.png",)
    assert verify_run(run.path).damages == []
    picture.write_bytes(b"another")
    assert [damage.what for damage in verify_run(run.path).damages] == ["the file is not what the run wrote"]
    picture.unlink()
    assert [damage.what for damage in verify_run(run.path).damages] == ["the file is missing"]


@pytest.mark.parametrize("name", ["artifacts/../../secret", "../artifacts/x", ".", "/etc/hosts"])
def test_a_sum_that_leads_out_is_not_followed(make_run: Callable[..., Path], name: str) -> None:
    folder = make_run()
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  {name}\n")
    (damage,) = verify_run(folder).damages
    assert (damage.file, "is no sum of a file of a run" in damage.what) == ("SHA256SUMS", True)


def test_traces_that_are_gone_or_new(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    trace = next((folder / "traces").rglob("*.jsonl"))
    trace.rename(trace.with_name("other.jsonl"))
    assert [(damage.file, damage.what) for damage in verify_run(folder).damages] == [
        ("traces/hostagent/lease/story.jsonl", "the trace can not be read: No such file or directory"),
        ("traces/hostagent/lease/other.jsonl", "no verdict speaks of this file"),
    ]


def test_verdicts_that_can_not_be_read(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    (folder / "verdicts.json").write_text("{")
    assert [damage.file for damage in verify_run(folder).damages] == ["verdicts.json"]
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(EvidenceError, match="is not JSON"):
        verify_run(folder)


def test_a_path_that_leads_out_is_not_followed(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    document = json.loads((folder / "verdicts.json").read_text())
    document["scenarios"][0]["trace"] = "../../../secret"
    (folder / "verdicts.json").write_text(json.dumps(document))
    damages = verify_run(folder).damages
    assert "leads out" in damages[1].what
