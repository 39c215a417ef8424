"""What every scenario must bring: an `@example`, and its place on the list of what a mode cannot judge."""

import ast
import importlib
import pkgutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lasttick.explore.bridge import explicit_examples, is_property
from lasttick.marks import not_applicable, scenario_id
from lasttick.plugin import spec_of

ROOT = Path(__file__).parents[1]
LISTED = ROOT / "scenarios" / "not_applicable.toml"


def scenarios() -> Iterator[tuple[str, Any]]:
    """Scenario id (without parameters) and function."""
    sys.path.insert(0, str(ROOT))
    try:
        package = importlib.import_module("scenarios")
        for info in pkgutil.walk_packages(package.__path__, "scenarios."):
            if not info.name.rpartition(".")[2].startswith("test_"):
                continue
            module = importlib.import_module(info.name)
            file = info.name.replace(".", "/") + ".py"
            for name, function in vars(module).items():
                if name.startswith("test_") and spec_of(function) is not None:
                    yield scenario_id(f"{file}::{name}"), function
    finally:
        sys.path.remove(str(ROOT))


FOUND = sorted(scenarios())


@pytest.mark.parametrize(("id_", "function"), FOUND, ids=[id_ for id_, _ in FOUND])
def test_a_property_scenario_has_an_example_and_a_docstring_tells_the_story(id_: str, function: Any) -> None:
    if is_property(function):
        assert explicit_examples(function) >= 1, "process mode runs only its @example's: add one"
    assert function.__doc__, "the docstring appears in the report: say what is exercised and what must hold"


@pytest.mark.parametrize("mode", ["virtual", "process"])
def test_what_a_mode_cannot_judge_is_listed(mode: str) -> None:
    listed = tomllib.loads(LISTED.read_text())[mode]
    found = {id_: reason for id_, function in FOUND if (reason := not_applicable(spec_of(function), mode))}
    assert found == listed, f"scenarios/not_applicable.toml differs for {mode}: list what is new, drop what is gone"


def test_no_scenario_sleeps_or_reads_the_clock() -> None:
    for file in sorted((ROOT / "scenarios").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                named = f"{node.value.id}.{node.attr}"
                assert named not in ("asyncio.sleep", "time.sleep", "time.time", "time.monotonic"), f"{file}: {named}"
