"""What is printed when a scenario did not pass? Which id, when, what happened around it, and how to see it again.

Source: DESIGN "What a user sees".
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence

from lasttick.evidence import Event, Manifest, ScenarioResult
from lasttick.report.lanes import lanes

CONFIG_OPTION = "--lasttick-config"
PROFILE = "lasttick.toml"
WORDS = {"fail": "FAIL", "inconclusive": "INCONCLUSIVE", "pass": "PASS", "not_applicable": "NOT APPLICABLE"}


def failure_text(result: ScenarioResult, events: Sequence[Event], *, seed: int, replay: str, width: int = 100) -> str:
    """Several lines without a line end: id and virtual time, each finding, the lanes, the example, seed and replay.

    `replay` is the command that plays it again.
    """
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
        lines += textwrap.wrap(f"falsified by: {shown}", width, initial_indent="  ", subsequent_indent="    ")
    lines.append(f"  seed {seed}; replay: {replay}")
    return "\n".join(lines)


def replay_command(scenario_id: str, *, run: str) -> str:
    """The command that plays a recorded scenario again; `run` is its name below reports/runs, or its folder.

    For a property scenario that was falsified it plays the shrunk example alone.
    """
    return shlex.join(["lasttick", "replay", run, scenario_id])


def check_command(config: str, law: str | None = None) -> str:
    """The command that plays the laws of a profile on its live target, or one of them: there is nothing to replay."""
    words = ["lasttick", "check"]
    words += [] if config == PROFILE else ["--config", config]
    return shlex.join(words if law is None else [*words, "--only", law])


def live_profile(manifest: Manifest) -> str | None:
    """The profile of a run on a live target, as it was named; None: no such run."""
    if manifest.mode != "live":
        return None
    words = list(manifest.command_line)
    at = words.index(CONFIG_OPTION) + 1 if CONFIG_OPTION in words else len(words)
    return words[at] if at < len(words) else PROFILE


def run_command(scenario_id: str, *, seed: int, mode: str) -> str:
    """The command that runs a scenario of which nothing was recorded."""
    words = ["lasttick", "run", scenario_id, "--seed", str(seed)]
    return shlex.join(words if mode == "virtual" else [*words, "--mode", mode])
