"""What happened, told by a copy of the ledger file alone, to a process that knows nothing else.

Source: contract lineup, C-4; LU-16.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from lasttick import World, scenario
from lasttick_fakes.model import Call, cards

FILE, CONTENT = "notes/today.txt", "Zwölf: 12\n"
SIZE_BYTES = len(CONTENT.encode())
CARD, STATE, TEXT = "lineup.v1.tool.call", "lineup.v1.tool.state", "lineup.v1.message"
RESULT = "lineup.v1.tool.result"


@scenario("LU-16")
async def test_a_copy_of_the_file_tells_what_both_ends_saw(world: World) -> None:
    """A permission with a wrong answer, a right one and a late one; a question in two cards; one that nobody answers.
    Cards, results as sent, verdicts, states, texts, options and prompts are those that host, agent and model have seen;
    how many bytes were written only the model's log says."""
    lineup = await world.lineup()
    await _story(lineup)
    copy = world.path / "elsewhere" / "copy.sqlite"
    copy.parent.mkdir()
    lineup.ledger.copy(copy)
    found = _read(copy)
    calls = {call["call_id"]: call for call in found["calls"]}

    assert [call["card"] for call in calls.values()] == _got(lineup, CARD)
    assert [(said["role"], said["text"]) for said in found["said"]] == [
        (payload["role"], payload["text"]) for payload in _got(lineup, TEXT)
    ]
    states = _got(lineup, STATE)
    for call_id, call in calls.items():
        results = [row for row in call["audit"] if row["phase"] == "result"]
        assert [row["body"] for row in results] == [one for one in _sent(lineup) if one["call_id"] == call_id]
        told = [one for one in states if one["call_id"] == call_id]
        judged = [(one["disposition"], one["reason"]) for one in told if one["disposition"] is not None]
        assert [(row["disposition"], row["reason"]) for row in results] == judged
        assert call["call_state"] == (told[-1]["state"] if told else "emitted")
    permission, first, second, last = calls.values()
    answers = [event.data["frame"]["result"]["outcome"] for event in lineup.agent_log("hermes.answered")]
    assert permission["answers"] == answers
    assert permission["outcome"] == permission["options"]["action_01"] == answers[0]["optionId"]
    assert {call["final_text"] for call in (permission, first, second)} == {_got(lineup, TEXT)[-1]["text"]}
    assert last["final_text"] is None
    prompts = [str(asked.messages[-1]["content"]) for asked in await lineup.model.requests() if not asked.helper]
    for call in (first, second, last):
        told_model = [text for text in prompts if RESULT in text.splitlines()[-1] and call["call_id"] in text]
        assert call["result_prompts"] == len(told_model)
        assert call["delivered"] == bool(told_model)
    assert [call["call_state"] for call in (permission, first, second)] == ["completed"] * 3
    assert [call["bytes_written"] for call in calls.values()] == ["not observed"] * 4

    log = world.path / "model.jsonl"
    log.write_text("".join(json.dumps(asked.as_json()) + "\n" for asked in await lineup.model.requests()))
    found = _read(copy, "--model-log", str(log))
    counts = [call["bytes_written"] for call in found["calls"]]
    (wrote,) = lineup.agent_log("hermes.wrote")
    assert counts == [wrote.data["bytes"], *["not observed"] * 3]
    assert (lineup.files / FILE).stat().st_size == counts[0] == SIZE_BYTES
    assert sorted(path.name for path in copy.parent.iterdir()) == [copy.name]


async def _story(lineup: Any) -> None:
    await lineup.model.script("write", Call.one("write_file", path=FILE, content=CONTENT), "Well.")
    await lineup.model.script("ask", cards.choice("ask-1", [("a", "One"), ("other", "Other")]))
    await lineup.model.script("ask-1", f"And now?\n{cards.inputs('ask-2', [{'id': 'what', 'label': 'What?'}])}")
    await lineup.model.script("ask-2", f"Thanks.\n{cards.choice('ask-3', [('b', 'Two')])}")
    person = lineup.person()
    await person.say("please write")
    card = await person.card()
    results: list[Any] = [{"action_id": "allow_once"}, {"action_id": "action_01"}, {"action_ids": ["action_01"]}]
    for number, result in enumerate(results, start=1):
        await person.answer(card.call_id, "completed", result)
        await person.told(card, number)
    await person.text("agent")
    await person.say("ask me")
    card = await person.card()
    await person.click(card, "other")
    card = await person.card()
    await person.type(card, "  as I like  ")
    await person.card()


def _got(lineup: Any, type_: str) -> list[dict[str, Any]]:
    return [frame["payload"] for frame in lineup.frames() if frame["type"] == type_]


def _sent(lineup: Any) -> list[dict[str, Any]]:
    return [line.frame["payload"] for line in lineup.host.log if line.way == "sent" and line.frame["type"] == RESULT]


def _read(copy: Path, *more: str) -> dict[str, Any]:
    """What a process says that gets the file and nothing else."""
    done = subprocess.run(
        [sys.executable, "-m", "lasttick", "reproduce", "--ledger", str(copy), *more],
        cwd=copy.parent,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))
