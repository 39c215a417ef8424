"""What docs/conformance.md tells a reader to type is there, and what it names exists."""

from __future__ import annotations

import re
import shlex
from itertools import product
from pathlib import Path

import pytest
import typer

from lasttick import cli, mutants
from lasttick.conformance import baseline, toolbox
from lasttick.requirements import collect_claims

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "conformance.md").read_text()
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_can_be_typed(line: str) -> None:
    program, *words = shlex.split(line)
    assert program == "lasttick"
    command, context = typer.main.get_command(cli.app), None
    while hasattr(command, "commands"):
        context = command.make_context(words[0], [], parent=context, resilient_parsing=True)
        command = command.commands[words.pop(0)]
    command.make_context(line, words, parent=context)  # refuses what it does not know


def test_the_mutant_and_the_scenarios_exist() -> None:
    (named,) = re.findall(r"--mutant (\S+)", PAGE)
    assert mutants.find(named).breaks == "HA-21"
    scenarios = {claim.scenario for claim in collect_claims(PROJECT / "scenarios")}
    for pattern in re.findall(r"lasttick run (\S+)", PAGE):
        assert any(pattern in scenario for scenario in scenarios), f"no scenario is called {pattern}"


def test_versions_and_variables_are_those_of_the_program() -> None:
    for word in (toolbox.FOLDER_VARIABLE, toolbox.SUITES[-1], f"Node {toolbox.NODE_MIN}", "XDG_CACHE_HOME"):
        assert word in PAGE, f"{word} is not on the page"
    vault = [suite for suite, day in product(toolbox.SUITES, ["2026-07-28"]) if baseline.load("vaultclaw", suite, day)]
    assert vault == [], "the page says that 2026-07-28 does not apply to the vault server"
