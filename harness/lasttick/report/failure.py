"""What is printed when a scenario did not pass? Which id, when, what happened around it, and how to see it again.

Source: DESIGN "What a user sees".
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence

from lasttick.evidence import Event, ScenarioResult
from lasttick.report.lanes import lanes

WORDS = {"fail": "FAIL", "inconclusive": "INCONCLUSIVE", "pass": "PASS", "not_applicable": "NOT APPLICABLE"}


def failure_text(
    result: ScenarioResult, events: Sequence[Event], *, seed: int, mode: str = "virtual", width: int = 100
) -> str:
    """Several lines without a line end: id and virtual time, each finding, the lanes, the example, seed and replay."""
    found = [check for check in result.checks if check.verdict in ("fail", "inconclusive")]
    moments = [check.t_s for check in found if check.t_s is not None]
    around_s = moments[0] if moments else (events[-1].t_s if events else None)
    claimed = ", ".join((*result.requirements, *result.laws))
    at = "" if around_s is None else f" at t={around_s:.3f}"
    lines = [f"{WORDS[result.verdict]} {result.id} ({claimed}){at}"]
    reasons = [f"{check.id} {check.verdict}: {check.reason}" for check in found]
    if not any(check.reason and check.reason in result.reason for check in found):
        reasons.insert(0, result.reason)
    for reason in reasons:
        for line in reason.splitlines():
            lines += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ")
    drawing = lanes(events, around_s=around_s, width=width)
    if drawing:
        lines += ["", drawing, ""]
    if result.falsified:
        shown = ", ".join(f"{name}={value}" for name, value in result.falsified.args.items())
        lines.append(f"  falsified by: {shown}")
    lines.append(f"  seed {seed}; replay: {replay_command(result, seed=seed, mode=mode)}")
    return "\n".join(lines)


def replay_command(result: ScenarioResult, *, seed: int, mode: str) -> str:
    """The command that runs the scenario again: that of the falsified example, else the scenario with its seed."""
    if result.falsified:
        return result.falsified.replay
    words = ["lasttick", "run", result.id, "--seed", str(seed)]
    return shlex.join(words if mode == "virtual" else [*words, "--mode", mode])
