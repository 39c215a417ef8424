"""Files that scenarios leave behind: in the run folder, named in the verdicts, also when workers wrote them."""

from __future__ import annotations

import json
from typing import Any

LEAVES = """
@scenario("HA-04")
@pytest.mark.parametrize("n", [1, 2])
async def test_leaves(world: World, n: int) -> None:
    world.artifact("board.png").write_bytes(b"picture %d" % n)

@scenario("HA-04")
async def test_leaves_nothing(world: World) -> None:
    pass

@scenario("HA-04")
async def test_fails_and_leaves(world: World) -> None:
    world.artifact("log.txt").write_text("said")
    assert False

@scenario("HA-04")
async def test_leads_out(world: World) -> None:
    for name in ("", "..", "../x", "a/b", ".hidden", "x" * 81, "a b", "/etc/x"):
        with pytest.raises(ValueError, match="expected letters"):
            world.artifact(name)
"""
LEFT = {
    "leaves[1]": ["artifacts/own/story/leaves.1/board.png"],
    "leaves[2]": ["artifacts/own/story/leaves.2/board.png"],
    "leaves-nothing": [],
    "fails-and-leaves": ["artifacts/own/story/fails-and-leaves/log.txt"],
    "leads-out": [],
}


def left(ran: Any) -> dict[str, list[str]]:
    return {name: entry.get("artifacts", []) for name, entry in ran.scenarios.items()}


def test_they_are_in_the_run_folder_and_in_the_verdicts(project: Any) -> None:
    project.write(LEAVES)
    ran = project.run()
    assert left(ran) == LEFT, ran.out
    assert (ran.folder / LEFT["leaves[2]"][0]).read_bytes() == b"picture 2"
    assert ran.words["leads-out"] == "pass"
    sums = (ran.folder / "SHA256SUMS").read_text()
    assert all(name in sums for names in LEFT.values() for name in names)
    assert ("artifact", {"name": "log.txt"}) in [(e["kind"], e["data"]) for e in ran.events("fails-and-leaves")]
    assert len([e for e in ran.events("leaves[1]") if e["kind"] == "artifact"]) == 1


def test_workers_leave_them_in_the_same_place(project: Any) -> None:
    """Slow: two seconds, for two workers."""
    project.write(LEAVES)
    ran = project.run_apart("-n", "2")
    assert left(ran) == LEFT, ran.out
    assert "leaves.1/board.png" in json.dumps(ran.verdicts)


def test_a_brief_run_keeps_nothing(project: Any) -> None:
    project.write(LEAVES)
    project.run("--lasttick-brief")
    assert not (project.path / "reports").exists()
