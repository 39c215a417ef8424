"""Was anybody told that a person had said yes, when nobody had? (VC-12)

Judged from the vault's own record of who decided what, against what the callers of `approval_wait` were told. Silence,
a deadline, a fault or a state that nobody knows is no yes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lasttick.checks.history import split_examples
from lasttick.checks.verdict import Verdict
from lasttick.engine.trace import Event

ID = "VC-12"
EXPECTED = "expected ALLOW only after a person's yes in the vault's own record (VC-12)"


def silence(events: Iterable[Event]) -> Verdict:
    """VC-12 over a whole trace. Not applicable when the vault recorded no approval, or nobody waited for one."""
    told = 0
    for example in split_examples(events):
        allowed: dict[str, bool] = {}
        asked: dict[str | None, str] = {}
        for event in example:
            if event.kind == "vault.approval":
                work_id = str(event.data.get("work_id"))
                allowed[work_id] = allowed.get(work_id, False) or event.data.get("decision") == "approve"
            elif event.kind == "call.start" and event.data.get("tool") == "approval_wait":
                asked[event.ref] = _work_id(event.data.get("arguments"))
            elif event.kind == "call.end" and event.ref in asked:
                told += 1
                work_id = asked[event.ref]
                # What no person had to decide is allowed without one.
                if event.data.get("told") == "ALLOW" and not allowed.get(work_id, True):
                    said = f"{event.actor} was told ALLOW of {work_id}, and nobody had said yes"
                    return Verdict(ID, "fail", f"{said}; {EXPECTED}", event.t_s)
    return Verdict(ID, "pass", "") if told else Verdict(ID, "not_applicable", "nobody waited for an approval")


def _work_id(arguments: Any) -> str:
    handle = arguments.get("handle") if isinstance(arguments, Mapping) else None
    if not isinstance(handle, Mapping):
        return ""
    return str(handle.get("job_id" if str(handle.get("kind")).upper() == "JOB" else "run_id"))
