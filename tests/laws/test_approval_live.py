"""A served service of approvals is gated by a profile alone, in real time: green as it is, red by the law of its fault.

Nothing is left pending, also by a check that was killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .approval_service import ApprovalService, profile_of
from .playing import all_laws
from .serving import Served

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 2.0
FAULTS = {"takes a late yes": "approval/late-is-refused", "ends early": "approval/deadline-exact"}
ALONE = "approval/silence-is-not-yes"
"""Waits for three ends; the two are played side by side."""


OTHERS = [law for law in all_laws() if law.startswith("approval/") and law != ALONE]


class Checked:
    """A service on a port of its own, and a check of it that has begun."""

    def __init__(self, service: ApprovalService, folder: Path, *words: str, timeout_s: float = TIMEOUT_S) -> None:
        self.service, self.folder = service, folder
        self.served = Served(service.app)
        (folder / "lasttick.toml").write_text(profile_of(service, self.served.url, timeout_s))
        self.process = self.check(*words)

    def check(self, *words: str) -> subprocess.Popen[str]:
        environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'harness'}:{ROOT / 'fakes'}"}
        return subprocess.Popen(
            [sys.executable, "-m", "lasttick", "check", *words],
            cwd=self.folder,
            env=environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def pending(self) -> list[str]:
        answer = httpx.get(f"{self.served.url}/pending", headers={"X-Key": "key-of-boss"})
        return [row["id"] for row in answer.json()]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[int, str]]]:
    """Exit code and output of `lasttick check` for both variants, and for each fault, all at once."""
    services = {"polling": ApprovalService(blocks=False, restart="keeps"), "blocking": ApprovalService(blocks=True)}
    services |= {wrong: ApprovalService(wrong) for wrong in FAULTS}
    only = {"polling": OTHERS, "blocking": [ALONE], **{wrong: [law] for wrong, law in FAULTS.items()}}
    checks = {
        name: Checked(service, tmp_path_factory.mktemp("service"), *(f"--only={law}" for law in only[name]))
        for name, service in services.items()
    }
    try:
        yield {name: (one.process.wait(), one.process.communicate()[0]) for name, one in checks.items()}
    finally:
        for one in checks.values():
            one.process.kill()
            one.served.stop()


@pytest.mark.parametrize(("checks", "laws"), [("polling", len(OTHERS)), ("blocking", 1)], ids=["polling", "blocking"])
def test_a_right_service_keeps_the_laws(checks: str, laws: int, checked: dict[str, tuple[int, str]]) -> None:
    code, out = checked[checks]
    assert code == 0, out
    assert out.count("PASS          approval/") == laws, out


@pytest.mark.parametrize("wrong", FAULTS)
def test_a_fault_is_red_by_its_law(wrong: str, checked: dict[str, tuple[int, str]]) -> None:
    code, out = checked[wrong]
    assert code == 1, out
    assert f"FAIL          {FAULTS[wrong]}" in out, out


def test_what_a_killed_check_left_is_denied_by_the_next(tmp_path: Path) -> None:
    only = ("--only", "approval/always-ends")
    one = Checked(ApprovalService(blocks=False), tmp_path, *only, timeout_s=60.0)
    try:
        journal = tmp_path / ".lasttick"
        until_s = time.monotonic() + 20
        while time.monotonic() < until_s and not one.pending():
            time.sleep(0.02)
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
        assert len(one.pending()) == 1
        written = [json.loads(line) for file in journal.glob("*.jsonl") for line in file.read_text().splitlines()]
        assert [line["kind"] for line in written if line["what"] == "opened" and line["kind"] == "approval"] == [
            "approval"
        ]
        after = one.check("--only", "approval/shows-what-runs")
        out = after.communicate()[0]
        assert after.returncode == 0, out
        assert one.service.asked["q1"].state == "denied"
    finally:
        one.process.kill()
        one.served.stop()
