"""Does the fake say what both real versions said? Each recording's client is played against it, frame by frame."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path

import pytest

from lasttick_fakes.hermes.acp import Pace
from lasttick_fakes.model import Say

from . import recording
from .bench import AcpBench, on_acp_bench

HELPERS = {"approve": "APPROVE", "deny": "DENY", "escalate": "ESCALATE"}
DEV = """
mcp_servers:
  dev: {url: "http://127.0.0.1:8765/mcp", headers: {Authorization: "Bearer test-token"}}
mcp_discovery_timeout: 30
"""
PAUSE_S = 0.15
"""A client that let so much time pass did so on purpose."""


def has_seen(bench: AcpBench, count: int) -> bool:
    """Whether that many frames have come whose place is compared."""
    return len(recording.parted([frame for _, frame in bench.frames])[0]) >= count


async def play(bench: AcpBench, lines: list[recording.Line]) -> None:
    """Send what the client sent, each frame after the agent's firm frames that it had seen, and as late."""
    recorded_ids = recording.session_ids([line.frame for line in lines])
    firm, _ = recording.parted([line.frame for line in lines if not line.ours])
    before_s, seen = 0.0, 0
    for line in lines:
        if not line.ours:
            seen += any(line.frame is one for one in firm)
        else:
            await bench.wait_for(functools.partial(has_seen, bench, seen))
            if line.t_s - before_s > PAUSE_S:
                await asyncio.sleep(line.t_s - before_s)
            text = json.dumps(line.frame).replace("/WORK", str(bench.folder))
            live_ids = recording.session_ids([frame for _, frame in bench.frames])
            for recorded, live in zip(recorded_ids, live_ids, strict=False):
                text = text.replace(recorded, live)
            bench.write(text.encode() + b"\n")
        before_s = line.t_s
    await asyncio.sleep(130)


@pytest.mark.parametrize("name", recording.recordings())
def test_the_fake_says_what_the_program_said(name: str, tmp_path: Path) -> None:
    lines = recording.read(name)

    async def story(bench: AcpBench) -> None:
        bench.version = name.partition("/")[0]
        bench.pace = Pace(first_prompt_s=1.5)
        if "_smart_" in name:
            bench.config = bench.config.replace("manual", "smart")
            bench.model.script("*", Say(HELPERS[name.rpartition("_")[2]]), helper=True)
        if name.endswith(("mcp_tools", "mcp_keepalive")):
            bench.config += DEV
        await bench.start()
        await play(bench, lines)
        said = recording.masked([frame for _, frame in bench.frames], str(tmp_path))
        expected = recording.masked([line.frame for line in lines if not line.ours], "/WORK")
        (firm, free), (firm_expected, free_expected) = recording.parted(said), recording.parted(expected)
        assert firm == firm_expected
        assert free == free_expected

        told = [asked for asked in bench.model.requests() if not asked.helper]
        wanted = recording.model_side(name)
        read = recording.messages([dict(asked.body) for asked in told], str(tmp_path))
        assert read == recording.messages(wanted, "/WORK")
        if "_mcp_" not in name:  # the recorded server had tools beside ours
            assert [list(asked.tools or ()) for asked in told] == [one["tools"] for one in wanted]

    on_acp_bench(tmp_path, story)


def test_every_recording_is_played() -> None:
    names = recording.recordings()
    assert len(names) == 46
    assert sorted(name[7:] for name in names if name.startswith("0.17.0/")) == sorted(
        name[7:] for name in names if name.startswith("0.19.0/")
    )
