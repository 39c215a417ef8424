"""Does a copied ledger file alone tell what host and agent have seen? LU-16."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reproduce.reader import NOT_OBSERVED, CallEvidence, read_evidence
from lasttick.targets.lineup.ledger import LedgerRows

from .adapter_rig import CARD, STATE, Rig, block, played

FRESH = """
import dataclasses, json, pathlib, sys
from lasttick.reproduce.reader import read_evidence
print(json.dumps([dataclasses.asdict(call) for call in read_evidence(pathlib.Path(sys.argv[1]))]))
"""


def in_fresh_process(ledger: Path) -> list[dict[str, Any]]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(ledger)], env=environ, capture_output=True, text=True, check=True
    )
    read: list[dict[str, Any]] = json.loads(done.stdout)
    return read


async def story(rig: Rig) -> None:
    """A permission that is rejected, allowed and repeated; a choice that is answered; another that is not."""
    await rig.say("write a file")
    rig.agent.ask(0)
    await rig.loop.settle()
    call_id = rig.host.cards[0]["call_id"]
    for result in ({"action_id": "allow_once"}, {"action_id": "action_01"}, {"action_ids": ["action_01"]}):
        await rig.result(call_id, result)
    rig.agent.replies("written")
    await rig.say("ask me", "other")
    rig.agent.replies(block("call_a"), session_id="s0-1")
    await rig.loop.settle()
    await rig.result("call_a", {"action_id": "other"}, conversation_id="other")
    rig.agent.replies(f"And what?\n{block('call_b')}", session_id="s0-1")
    await rig.loop.settle()
    await rig.loop.advance(700.0)


def test_the_evidence_of_a_copied_file_equals_what_host_and_agent_saw(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "copy.sqlite"
    copy.parent.mkdir()
    seen: list[Rig] = []

    async def whole(rig: Rig) -> None:
        await story(rig)
        seen.append(rig)
        LedgerRows(rig.path).copy(copy)  # while the adapter runs: its last commits are not in the file itself

    played(tmp_path, whole)
    (rig,) = seen
    assert sorted(path.name for path in copy.parent.iterdir()) == ["copy.sqlite"]
    permission, a, b = in_fresh_process(copy)
    frames = rig.host.frames
    assert [call["card"] for call in (permission, a, b)] == [f["payload"] for f in frames if f["type"] == CARD]
    for call in (permission, a, b):
        results = [row for row in call["audit"] if row["phase"] == "result"]
        told = [f["payload"] for f in frames if f["type"] == STATE and f["payload"]["call_id"] == call["call_id"]]
        dispositions = [(p["disposition"], p["reason"]) for p in told if p["disposition"] is not None]
        assert [(row["disposition"], row["reason"]) for row in results] == dispositions
        assert told[-1]["state"] == call["call_state"]
        assert call["bytes_written"] == NOT_OBSERVED
    assert [row["body"]["result"] for row in permission["audit"][1:]] == [
        {"action_id": "allow_once"},
        {"action_id": "action_01"},
        {"action_ids": ["action_01"]},
    ]
    assert permission["options"] == {"action_01": "allow_once", "action_02": "deny"}
    assert [(0, answer["optionId"]) for answer in permission["answers"]] == rig.agent.answers
    assert permission["answer_sent"] is True
    assert (permission["request_seq"], permission["final_text"]) == (1, "written")
    assert (permission["interaction_state"], permission["outcome"]) == ("resolved", "allow_once")
    assert (a["prompt_started"], a["delivered"], a["final_text"]) == (True, True, "And what?\n")
    assert (a["interaction_state"], b["call_state"], b["final_text"]) == (None, "expired", None)


def test_bytes_come_from_a_log_of_the_other_side_or_are_not_observed(tmp_path: Path) -> None:
    async def whole(rig: Rig) -> None:
        await story(rig)
        call_id = rig.host.cards[0]["call_id"]
        found: list[CallEvidence] = read_evidence(rig.path, {call_id: 22})
        assert [call.bytes_written for call in found] == [22, NOT_OBSERVED, NOT_OBSERVED]

    played(tmp_path, whole)


def test_two_runs_of_one_story_leave_the_same_evidence(tmp_path: Path) -> None:
    def run(name: str) -> list[dict[str, Any]]:
        async def main(loop: VirtualLoop) -> None:
            rig = Rig(loop, tmp_path / name)
            await rig.start()
            await story(rig)
            await rig.adapter.stop()
            assert loop.unseen_failures() == []

        run_virtual(main)
        return [dataclasses.asdict(call) for call in read_evidence(tmp_path / name)]

    assert run("a.sqlite") == run("b.sqlite")
