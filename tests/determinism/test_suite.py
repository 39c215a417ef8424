"""Same seed, same traces: the whole suite, in separate processes, under other hash seeds, with and without xdist."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = '''
"""A scenario that iterates over a set of strings: what the determinism check must see."""

from lasttick import World, scenario


@scenario("HA-04")
async def test_order_of_a_set(world: World) -> None:
    """Writes the names of a set in whatever order the set gives them."""
    for name in {"alice", "bob", "carol", "dave", "erin", "frank"}:
        world.trace.emit("harness", "trouble", None, name=name)
'''


def hashes(out: Path, *arguments: str, hash_seed: str, cwd: Path = ROOT) -> dict[str, str | None]:
    """Run scenarios in a process of their own; scenario id -> trace hash."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--lasttick-out", str(out), *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    verdicts = json.loads((out / "latest" / "verdicts.json").read_text())
    return {entry["id"]: entry["trace_sha256"] for entry in verdicts["scenarios"]}


def test_the_map_of_trace_hashes_is_the_same_everywhere(tmp_path: Path) -> None:
    plain = hashes(tmp_path / "a", "scenarios", hash_seed="1")
    parallel = hashes(tmp_path / "b", "scenarios", "-n", "2", hash_seed="7")
    assert len(plain) > 1
    different = sorted(name for name in {*plain, *parallel} if plain.get(name) != parallel.get(name))
    assert not different, f"trace hashes differ between two processes: {different}"


def test_another_seed_gives_other_traces(tmp_path: Path) -> None:
    select = ("scenarios", "--lasttick-select", "hostagent/lease/*")
    first = hashes(tmp_path / "a", *select, "--lasttick-seed", "1", hash_seed="0")
    second = hashes(tmp_path / "b", *select, "--lasttick-seed", "2", hash_seed="0")
    assert first != second


@pytest.mark.parametrize("same", [True, False])
def test_a_planted_iteration_over_a_set_is_seen(tmp_path: Path, same: bool) -> None:
    folder = tmp_path / "scenarios" / "hostagent"
    folder.mkdir(parents=True)
    (folder / "test_planted.py").write_text(PLANTED)
    arguments = (str(folder), "--rootdir", str(tmp_path), "--import-mode=importlib")
    seeds = ("1", "1") if same else ("1", "2")
    first, second = (
        hashes(tmp_path / f"out-{number}", *arguments, hash_seed=seed, cwd=tmp_path)
        for number, seed in enumerate(seeds)
    )
    assert (first == second) is same
