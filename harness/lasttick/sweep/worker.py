"""A worker of the matrix: one pytest session whose loop plays what it is given, without pytest's ceremony.

What pytest does around a test (fixtures, capturing, reports, a line on the screen) costs half as much as the scenario.
An item that needs none of it is called at once; its verdict is the same.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from lasttick.marks import MARK, item_id

WORLD = "world"


def work(scenarios: str, seed: int, examples_max: int, todo: Any, done: Any) -> None:
    """Collect once, then answer every job of the queue `todo` on `done`, until the job is None."""
    arguments = [scenarios, "-q", "-p", "no:cacheprovider", "--rootdir=.", "--import-mode=importlib", "--no-header"]
    arguments += [
        "--tb=no",
        "--lasttick-seed",
        str(seed),
        "--lasttick-brief",
        "-o",
        f"lasttick_examples={examples_max}",
    ]
    # Its fixture is there for every test, and no scenario asks for it: a world has a faker of its own.
    arguments += ["-p", "no:faker"]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        code = pytest.main(arguments, plugins=[_Loop(todo, done)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(int(code))


class _Loop:
    """Replaces pytest's loop over the items."""

    def __init__(self, todo: Any, done: Any) -> None:
        self._todo = todo
        self._done = done

    def pytest_runtestloop(self, session: Any) -> bool:
        from lasttick.mutants import catalogue, find
        from lasttick.plugin import OPTIONS
        from lasttick.sweep.reach import Reach

        settings = session.config.stash[OPTIONS]
        items = {item_id(item): item for item in session.items}
        claims = {id_: item.get_closest_marker(MARK).args[0].claims for id_, item in items.items()}
        reach = Reach(catalogue())
        warm = False
        while (job := self._todo.get()) is not None:
            what, wanted = job
            if what == "list":
                self._done.put(list(items))
            elif what == "watch":
                settings.mutant, settings.first_only = None, False
                watched = []
                with reach.watching():
                    for id_ in wanted:
                        began_s = time.process_time()
                        word = verdict(items[id_])
                        cpu_s = time.process_time() - began_s
                        watched.append((id_, word, reach.changeable_by(reach.take()), cpu_s))
                self._done.put(watched)
            else:
                if not warm:
                    # What is loaded by now stays: neither the collector nor a fork need look at it again.
                    gc.collect()
                    gc.freeze()
                    warm = True
                mutant_id, ids = wanted
                settings.mutant = find(mutant_id)
                told = {}
                for id_ in ids:
                    settings.first_only = settings.mutant.breaks not in claims[id_]
                    told[id_] = verdict(items[id_])
                self._done.put((mutant_id, told))
        return True


def verdict(item: Any) -> str:
    """Play one item of a brief run. What breaks outside its body is red too."""
    arguments = own_arguments(item)
    return by_pytest(item) if arguments is None else by_call(item, arguments)


def own_arguments(item: Any) -> dict[str, Any] | None:
    """What the item's function is called with, when that is the world and parameters; None when it needs fixtures."""
    given = {WORLD: None, **(item.callspec.params if hasattr(item, "callspec") else {})}
    indirect = any(mark.kwargs.get("indirect") for mark in item.iter_markers("parametrize"))
    return None if indirect or set(item.fixturenames) - set(given) else given


def by_call(item: Any, arguments: dict[str, Any]) -> str:
    from lasttick.plugin import started
    from lasttick.targets.verdict import ended

    try:
        with started(item) as run:
            item.obj(**arguments)
    except pytest.skip.Exception as skipped:
        return ended(None, str(skipped))[0]
    except (Exception, pytest.fail.Exception) as error:
        return ended(error)[0]
    return ended(run.error)[0]


def by_pytest(item: Any) -> str:
    from _pytest.runner import runtestprotocol

    from lasttick.plugin import PROPERTY

    for report in runtestprotocol(item, log=False, nextitem=None):
        for name, value in report.user_properties:
            if name == PROPERTY:
                return str(json.loads(str(value))["verdict"])
    return "fail"
