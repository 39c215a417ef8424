"""What is refused before anything runs, each in one message without a traceback, and what is collected at all."""

from __future__ import annotations

from typing import Any

import pytest

TWO = """
@scenario("HA-04")
async def test_one(world: World) -> None: ...

@scenario("HA-06")
async def test_two(world: World) -> None: ...
"""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            '@scenario("HA-99")\nasync def test_x(world): ...',
            "own/story/x claims HA-99, which the catalogue does not have; near it: HA-",
        ),
        ('@scenario("GW-19")\nasync def test_x(world): ...', "claims GW-19, which is planned (the real agent)"),
        ('@scenario("lease/exclusive")\nasync def test_x(world): ...', "claims the law lease/exclusive"),
        ("@scenario\nasync def test_x(world): ...", "expected 1 to 3 requirement or law ids"),
        ('@scenario("HA-04")\ndef test_x(world): ...', "expected `async def test_x(world: World, ...)`"),
        ('@scenario("HA-04")\nasync def test_x(): ...', "expected `async def test_x(world: World, ...)`"),
        (
            '@scenario("HA-04")\n@given(n=st.integers())\ndef test_x(world, n): ...',
            "expected `async def test_x(world: World, ...)`",
        ),
        (
            'class TestX:\n    @scenario("HA-04")\n    async def test_x(self, world): ...',
            "TestX::test_x is a method",
        ),
    ],
)
def test_a_mistake_is_one_message(project: Any, source: str, says: str) -> None:
    project.write(source)
    ran = project.run()
    said = ran.out + ran.err
    assert ran.code == 2, said
    assert said.count(says) == 1, said
    assert "Traceback" not in said
    assert "_pytest" not in said
    assert "lasttick/plugin.py" not in said
    assert not (project.path / "reports").exists()


def test_every_file_with_a_wrong_claim_is_told(project: Any) -> None:
    project.write('@scenario("HA-99")\nasync def test_x(world): ...')
    project.write('@scenario("HA-98")\nasync def test_y(world): ...', name="other")
    ran = project.run()
    assert ran.code == 2
    assert "scenarios/own/test_other.py::test_y: own/other/y claims HA-98" in ran.out
    assert "scenarios/own/test_story.py::test_x: own/story/x claims HA-99" in ran.out


def test_select(project: Any) -> None:
    project.write(TWO + "def test_plain():\n    raise AssertionError('must not run')\n")
    assert list(project.run("--lasttick-select", "story/two").words) == ["two"]
    assert list(project.run("--lasttick-select", "own/*/o*").words) == ["one"]
    ran = project.run("--lasttick-select", "nothing")
    assert ran.code == 5
    assert "3 deselected" in ran.out


def test_select_leaves_out_plain_tests_also_where_no_scenario_is(project: Any) -> None:
    project.write("def test_plain():\n    raise AssertionError('must not run')\n")
    assert project.run("--lasttick-select", "plain").code == 5


def test_plain_tests_beside_scenarios_run_as_ever(project: Any) -> None:
    project.write(TWO + "def test_plain():\n    assert True\nasync def helper(): ...\n")
    ran = project.run()
    assert ran.code == 0
    assert "3 passed" in ran.out
    assert sorted(ran.words) == ["one", "two"]


def test_world_is_a_placeholder_elsewhere(project: Any) -> None:
    project.write("def test_plain(world):\n    assert world is None\n")
    assert project.run().code == 0
    assert "world" in project.run("--fixtures").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--lasttick-target", "hostagent=mutant:no-such"], "unknown mutant 'no-such'; expected an id such as "),
        (["--lasttick-target", "hostagent=mutant:"], "unknown mutant ''"),
        (["--lasttick-target", "hostagent"], "expected SYSTEM=reference or SYSTEM=mutant:ID"),
        (["--lasttick-target", "elsewhere=mutant:x"], "expected SYSTEM=reference or SYSTEM=mutant:ID"),
        (["--lasttick-target", "elsewhere=reference"], "expected SYSTEM=reference or SYSTEM=mutant:ID"),
        (["--lasttick-target", "hostagent=cmd:mine"], "expected SYSTEM=reference or SYSTEM=mutant:ID"),
        (["--lasttick-target", "vaultclaw=cmd: "], "expected SYSTEM=reference or SYSTEM=mutant:ID"),
        (["--lasttick-target", "vaultclaw=cmd:mine"], "add --lasttick-mode process"),
        (["--lasttick-mode", "live"], "--lasttick-mode: invalid choice: 'live'"),
        (["--lasttick-seed", "one"], "--lasttick-seed: invalid int value: 'one'"),
        (["-o", "lasttick_mode=live"], "lasttick mode 'live' is unknown; expected virtual or process"),
        (["-o", "lasttick_examples=many"], "lasttick_examples is 'many'"),
        (["-o", "lasttick_examples=-1"], "lasttick_examples is '-1'"),
        (["--lasttick-out", "file"], "can not be written: Not a directory"),
    ],
)
def test_a_wrong_option_is_one_message(project: Any, arguments: list[str], says: str) -> None:
    project.write(TWO)
    (project.path / "file").write_text("mine")
    ran = project.run(*arguments)
    said = ran.out + ran.err
    assert ran.code == 4, said
    assert said.count(says) == 1, said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert (project.path / "file").read_text() == "mine"


def test_the_reference_may_be_named(project: Any) -> None:
    project.write(TWO)
    assert project.run("--lasttick-target", "hostagent=reference").code == 0


# -- pytest-asyncio in auto mode would take every coroutine function; it is not installed here, so this stands for it.

AUTO_MODE = """
import asyncio
import functools
import inspect
import pytest

TAKEN = []

@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector, name, obj):
    items = yield
    for item in items or []:
        function = getattr(item, "obj", None)
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", None)
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner):
            TAKEN.append(item.name)
            item.obj = taken(function)
    return items

def taken(function):
    @functools.wraps(function)
    def run(**arguments):
        raise AssertionError("pytest-asyncio got this one")
    return run

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"taken: {TAKEN}")
"""


def test_a_plugin_that_takes_coroutines_leaves_scenarios_alone(project: Any) -> None:
    project.pytester.makeconftest(AUTO_MODE)
    project.write(
        TWO
        + """
@scenario("HA-06")
@settings(max_examples=3)
@given(n=st.integers())
async def test_property(world: World, n: int) -> None: ...

async def test_theirs() -> None: ...
"""
    )
    ran = project.run()
    assert "taken: ['test_theirs']" in ran.out
    assert ran.words == {"one": "pass", "two": "pass", "property": "pass"}
    assert "1 failed, 3 passed" in ran.out
