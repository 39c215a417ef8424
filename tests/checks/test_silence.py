"""Nobody is told of a yes that nobody said: the check on histories made by hand, and where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.checks import silence, standing
from lasttick.engine.trace import Event


class Story:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def see(self, kind: str, ref: str | None = None, **data: Any) -> Story:
        t_ns = len(self.events) * 1_000_000_000
        self.events.append(Event(len(self.events), t_ns, "", "alice", kind, ref, data))
        return self

    def decided(self, work_id: str, decision: str = "approve") -> Story:
        return self.see("vault.approval", work_id=work_id, decision=decision, decided_by="Pat", state="SUCCEEDED")

    def waits(self, ref: str, told: str | None, kind: str = "JOB", **ids: str) -> Story:
        handle = {"kind": kind, **(ids or {"job_id": "job_1"})}
        self.see("call.start", ref, tool="approval_wait", arguments={"handle": handle})
        return self.see("call.end", ref, tool="approval_wait", ok=told is not None, told=told)


@pytest.mark.parametrize(
    "story",
    [
        Story().decided("job_1").waits("c1", "ALLOW"),
        Story().decided("run_1").waits("c1", "ALLOW", "plan_run", run_id="run_1", job_id="job_1"),
        Story().decided("job_1", "deny").waits("c1", "DENY"),
        Story().decided("job_1", "").waits("c1", None),
        Story().decided("job_2", "").waits("c1", "ALLOW"),
    ],
    ids=["a yes", "of a run", "a no", "silence", "nobody had to decide"],
)
def test_what_holds(story: Story) -> None:
    assert silence(story.events).verdict == "pass"


@pytest.mark.parametrize(
    "story",
    [
        Story().decided("job_1", "").waits("c1", "ALLOW"),
        Story().decided("job_1", "deny").waits("c1", "ALLOW"),
        Story().decided("job_1", "").decided("job_2").waits("c1", "ALLOW"),
        Story().decided("job_1", "").waits("c1", "ALLOW").decided("job_1"),
        Story().decided("job_1").see("example").decided("job_1", "").waits("c1", "ALLOW"),
        Story().decided("run_1", "").decided("job_1").waits("c1", "ALLOW", "PLAN_RUN", run_id="run_1", job_id="job_1"),
    ],
    ids=["silence", "a no", "another's yes", "a later yes", "an earlier story's yes", "a job's yes for a run"],
)
def test_what_does_not(story: Story) -> None:
    verdict = silence(story.events)
    assert (verdict.verdict, verdict.id) == ("fail", "VC-12")
    assert "nobody had said yes" in verdict.reason


def test_nothing_to_judge() -> None:
    assert silence(Story().decided("job_1").events).verdict == "not_applicable"


def test_it_stands_where_the_vault_tells_of_approvals() -> None:
    assert silence in standing(Story().decided("job_1").events)
    assert silence not in standing(Story().waits("c1", "ALLOW").events)
