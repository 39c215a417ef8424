"""What does a played exchange leave on disk, and how is it read again? One folder for one adapter.

| file | what |
|---|---|
| `ledger.sqlite` | a copy of the adapter's ledger at the end; `before-restart.sqlite`: before it was restarted |
| `host.jsonl` | the host's own log: every frame of either direction |
| `agent.jsonl` | the agent's own log: what it was answered, what it wrote |
| `model.jsonl` | what the model was asked |
| `files.json` | the files in the agent's folder, measured on disk |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.evidence.files import write_json, write_text
from lasttick.reproduce.model_log import bytes_written
from lasttick.reproduce.reader import AuditRow, CallEvidence, Said, read_evidence, read_refusals, read_said

if TYPE_CHECKING:
    from lasttick.targets.lineup.handle import Lineup

LEDGER, BEFORE_RESTART = "ledger.sqlite", "before-restart.sqlite"
HOST, AGENT, MODEL, FILES = "host.jsonl", "agent.jsonl", "model.jsonl", "files.json"


@dataclass(frozen=True, slots=True)
class Side:
    """Everything that one folder says. `before`: the cards before the restart, if there was one. `host`: frames as
    (way, frame). `files`: path -> bytes on disk."""

    calls: list[CallEvidence]
    before: list[CallEvidence]
    refused: list[AuditRow]
    said: list[Said]
    host: list[tuple[str, Mapping[str, Any]]]
    agent: list[Mapping[str, Any]]
    files: Mapping[str, int]

    def got(self, type_: str) -> list[Mapping[str, Any]]:
        """Payloads of the frames of a type that the host got."""
        return [frame["payload"] for way, frame in self.host if way == "got" and frame.get("type") == type_]

    @property
    def answers(self) -> list[str]:
        """What the agent was answered, by its own log: options, or `cancelled`."""
        outcomes = [one["frame"]["result"]["outcome"] for one in self.agent if one["kind"] == "hermes.answered"]
        return [str(outcome.get("optionId", outcome["outcome"])) for outcome in outcomes]


async def keep(lineup: Lineup, out: Path) -> None:
    """Write it all. `out` exists. Raises EvidenceError."""
    lineup.ledger.copy(out / LEDGER)
    _write_lines(out / HOST, (line.as_json() for line in lineup.host.log))
    events = [{"t_ns": event.t_ns, "kind": event.kind, **event.data} for event in lineup.agent_log()]
    _write_lines(out / AGENT, events)
    _write_lines(out / MODEL, [asked.as_json() for asked in await lineup.model.requests()])
    files = sorted(path for path in lineup.files.rglob("*") if path.is_file())
    write_json(out / FILES, {path.relative_to(lineup.files).as_posix(): path.stat().st_size for path in files})


def read(folder: Path) -> Side:
    """From the folder alone. Raises NoLedger, OSError."""
    requests = [line["body"] for line in _lines(folder / MODEL)]
    unmeasured = read_evidence(folder / LEDGER)
    before = folder / BEFORE_RESTART
    return Side(
        calls=read_evidence(folder / LEDGER, bytes_written(unmeasured, requests)),
        before=read_evidence(before) if before.exists() else [],
        refused=read_refusals(folder / LEDGER),
        said=read_said(folder / LEDGER),
        host=[(line["way"], line["frame"]) for line in _lines(folder / HOST) if isinstance(line["frame"], dict)],
        agent=_lines(folder / AGENT),
        files=json.loads((folder / FILES).read_text(encoding="utf-8")),
    )


def _write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, (json.dumps(value) + "\n" for value in values))


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
