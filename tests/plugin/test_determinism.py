"""Same seed, same trace: in two processes, under xdist, under another PYTHONHASHSEED; what would break it is seen."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

STORY = """
@scenario("HA-04")
async def test_honest(world: World) -> None:
    host = await world.hostagent(devices=["phone-1", "ipad-1=ios@2"])
    alice, bob = await host.client("alice"), await host.client("bob")
    await world.device("phone-1").slow("tap", world.random("data").uniform(1, 5))
    both = alice.begin_tap("phone-1"), bob.begin_tap("ipad-1")
    for call in both:
        await call
    await bob.end()
    await host.status()

@scenario("HA-06")
@settings(max_examples=5)
@given(n=st.integers())
async def test_property(world: World, n: int) -> None:
    world.trace.emit("harness", "trouble", None, n=n, draw=world.random("data").random())

class Plain:
    pass

@scenario("HA-06")
@settings(max_examples=5)
@given(words=st.frozensets(st.sampled_from("abcdefgh"), min_size=3), plain=st.lists(st.builds(Plain), min_size=1))
async def test_arguments(world: World, words: frozenset[str], plain: list[Plain]) -> None:
    world.trace.emit("harness", "trouble", None, draw=world.random("data").random())

@scenario("HA-04")
async def test_planted(world: World) -> None:
    for word in {"one", "two", "three", "four", "five", "six", "seven", "eight"}:
        world.trace.emit("harness", "trouble", None, word=word)
"""


def test_the_same_in_other_processes_and_a_planted_set_is_seen(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow: two workers, each a process that imports everything."""
    project.write(STORY)
    here = project.run()
    monkeypatch.setenv("PYTHONHASHSEED", "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1")
    there = project.run("-n", "2")
    assert there.code == 0, there.out
    for name in ("honest", "property", "arguments"):
        assert here.hashes[name] == there.hashes[name]
    assert here.hashes["planted"] != there.hashes["planted"]

    # Workers and controller share one run folder, as whole as that of a single process.
    assert len(list((project.path / "reports" / "runs").iterdir())) == 2
    assert "4 pass; mode virtual, seed 1" in there.out
    files = [sorted(str(path.relative_to(ran.folder)) for path in ran.folder.rglob("*")) for ran in (here, there)]
    assert files[0] == files[1]
    assert list(here.scenarios) == list(there.scenarios)


@pytest.mark.parametrize("arguments", [("--lasttick-target", "hostagent=mutant:no-such"), ("--lasttick-out", "file")])
def test_a_wrong_option_under_xdist_is_one_message(project: Any, arguments: tuple[str, str]) -> None:
    project.write(STORY)
    (project.path / "file").write_text("mine")
    ran = project.run("-n", "1", *arguments)
    said = ran.out + ran.err
    assert ran.code == 4, said
    assert said.count("ERROR: ") == 1, said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said


def test_a_wrong_claim_under_xdist_is_told(project: Any) -> None:
    project.write('@scenario("HA-99")\nasync def test_x(world): ...\n')
    ran = project.run("-n", "1")
    said = ran.out + ran.err
    assert ran.code != 0
    assert "claims HA-99, which the catalogue does not have" in said
    assert "INTERNALERROR" not in said, said


def test_the_seed_changes_the_story(project: Any) -> None:
    project.write(STORY)
    one, again, two = project.run(), project.run("--lasttick-seed", "1"), project.run("--lasttick-seed", "2")
    # The planted scenario iterates over a set: it may differ from run to run, which another test is about.
    honest = [name for name in one.hashes if name != "planted"]
    assert {name: one.hashes[name] for name in honest} == {name: again.hashes[name] for name in honest}
    assert two.verdicts["seed"] == 2
    assert one.hashes["honest"] != two.hashes["honest"]
    assert one.hashes["property"] != two.hashes["property"]


def test_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("mcp", "fastapi", "starlette", "hypothesis", "httpx", "pydantic", "uvicorn", "asyncio")
    program = "import sys, pytest; before = set(sys.modules); import lasttick.plugin, lasttick; "
    program += f"print([name for name in {heavy!r} if name in set(sys.modules) - before])"
    told = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_project_without_scenarios_pays_nothing(project: Any) -> None:
    """The plugin of an installed lasttick is there in every pytest run of that environment."""
    project.write("")
    (project.path / "scenarios" / "own" / "test_story.py").write_text("def test_plain():\n    assert True\n")
    project.pytester.makeconftest(
        "import sys\ndef pytest_unconfigure():\n"
        "    print('LOADED', [n for n in ('mcp', 'fastapi', 'httpx', 'lasttick.targets') if n in sys.modules])\n"
    )
    ran = project.run_apart("-p", "no:anyio", "-p", "no:respx", "-s")
    assert ran.code == 0
    assert "LOADED []" in ran.out
