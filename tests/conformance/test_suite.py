"""How the suite's lists are read, its baselines kept, and a program that does not work told from one that does."""

from __future__ import annotations

import asyncio
import sys
from itertools import product
from pathlib import Path

import pytest

from lasttick.conformance import baseline, toolbox
from lasttick.conformance.child import SuiteFailed
from lasttick.conformance.play import REVISIONS, SYSTEMS
from lasttick.conformance.suite import Suite, listed_requirements, listed_server
from lasttick.conformance.toolbox import Node

SERVER = """Server scenarios (test against a server):
  - ping [2025-06-18,2025-11-25]
  - dns-rebinding-protection [2025-11-25]
  - of-old [2025-06-18]
"""
REQUIREMENTS = """Required for 2025-11-25 (4 scenarios, frozen; run at the 2025-11-25 wire):

Server scenarios (test against a server):
  - ping
  - tools-list

Client scenarios (test against a client):
  - initialize
  - auth/metadata-default

Run and reported, but never scored:
  extension (2):
    - auth/dpop [client]
    - tasks-lifecycle [server]
  pending (1):
    - json-schema-2020-12 [server]
"""


def test_the_list_of_a_revision() -> None:
    assert listed_server(SERVER, "2025-11-25") == ("ping", "dns-rebinding-protection")


def test_what_a_revision_requires_and_what_it_only_plays() -> None:
    listed = listed_requirements(REQUIREMENTS)
    assert listed.required == ("ping", "tools-list")
    assert listed.all == ("ping", "tools-list", "tasks-lifecycle", "json-schema-2020-12")


def test_each_baseline_has_a_list_and_a_reason_for_each_known_failure() -> None:
    found = 0
    for system, version, revision in product(SYSTEMS, toolbox.SUITES, REVISIONS):
        known = baseline.load(system, version, revision)
        if known is None:
            continue
        found += 1
        assert known.bare.required, f"{system} {version} {revision} requires nothing without fixtures"
        for section in (known.bare, known.fixtures):
            assert section is None or all(reason.strip() for reason in section.known.values())
    assert found == 5


@pytest.mark.parametrize(
    ("program", "said"),
    [("raise SystemExit('no globSync here')", "no globSync here"), ("print('all passed')", "left no results")],
)
def test_a_suite_that_leaves_no_results_has_failed(program: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "index.js"
    script.write_text(program)
    suite = Suite(Node(Path(sys.executable), "v24.0.0"), script, "0.2.0")
    with pytest.raises(SuiteFailed, match=said):
        asyncio.run(suite.play("http://127.0.0.1:9/mcp", "2025-11-25", tmp_path))


def test_a_node_that_does_not_start_is_said_so(tmp_path: Path) -> None:
    suite = Suite(Node(tmp_path / "node", "v24.0.0"), tmp_path / "index.js", "0.2.0")
    with pytest.raises(SuiteFailed, match="does not start"):
        asyncio.run(suite.list("2025-11-25", ()))
