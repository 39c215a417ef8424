"""Which scenarios are there, and what do they claim? Read from the source, without importing or running anything.

`lasttick explain` answers in a tenth of a second this way, and also where a scenario file does not import.
Reads `@scenario("HA-06", ...)` on functions of `test_*.py`; ids must be plain texts.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import lasttick
from lasttick.requirements.coverage import Claim
from lasttick.requirements.errors import CatalogueError
from lasttick.requirements.ids import scenario_id

EXAMPLE = '@scenario("HA-06")'
# The id tells our mark from that of others: pytest-bdd has a `@scenario("file.feature", "name")` too.
SPEAKS_OF_LASTTICK = re.compile(rb"\blasttick\b|@scenario\(\s*[\"'][A-Z]{2}-\d")


def scenarios_folder(project: Path) -> Path:
    """`scenarios/` of the project unless it is of another tool, else the shipped ones. Raises CatalogueError."""
    own = project / "scenarios"
    if own.is_dir() and not _is_of_another_tool(own):
        return own
    package = Path(lasttick.__file__).parent
    # A wheel carries them inside the package; an editable install leaves them beside harness/.
    for folder in (package / "scenarios", package.parents[1] / "scenarios"):
        if folder.is_dir():
            return folder
    raise CatalogueError(
        f"no scenarios found: {project} has no folder scenarios with a scenario of lasttick, and none came with it",
        "a folder scenarios in the project, or the installed package's own",
        "run the command in a checkout, or install lasttick again",
    )


def _is_of_another_tool(folder: Path) -> bool:
    """Whether it holds something, and no test file speaks of lasttick: `scenarios` is a common name for a folder.

    Read as bytes, so that a scenario file that does not parse stays the project's own, and is named as an error.
    """
    return any(folder.rglob("*")) and not any(_may_hold_a_scenario(path) for path in folder.rglob("test_*.py"))


def _may_hold_a_scenario(path: Path) -> bool:
    try:
        return SPEAKS_OF_LASTTICK.search(path.read_bytes()) is not None
    except OSError:
        # Nobody can tell. As the project's own it ends in a message that names it; skipped, it could hide scenarios.
        return True


def collect_claims(folder: Path) -> list[Claim]:
    """Every scenario below `folder`, sorted by file and line.

    Raises CatalogueError for a file that can not be read or parsed, and for ids that are no plain texts.
    """
    return [claim for path in sorted(folder.rglob("test_*.py")) for claim in _claims(folder, path)]


def _claims(folder: Path, path: Path) -> Iterator[Claim]:
    shown = path.relative_to(folder).as_posix()
    try:
        module = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise CatalogueError(f"{shown} can not be read: {error}", "a Python file", f"correct {shown}") from error
    for node in module.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            if _is_scenario(decorator):
                yield Claim(
                    scenario=scenario_id(path.relative_to(folder), node.name),
                    ids=_ids(decorator, f"{shown}:{node.lineno}"),
                    where=f"{shown}:{node.lineno}",
                    text=inspect.cleandoc(ast.get_docstring(node) or ""),
                )


def _is_scenario(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(called, ast.Name) and called.id == "scenario") or (
        isinstance(called, ast.Attribute) and called.attr == "scenario"
    )


def _ids(decorator: ast.expr, where: str) -> tuple[str, ...]:
    arguments = decorator.args if isinstance(decorator, ast.Call) else []
    ids = tuple(item.value for item in arguments if isinstance(item, ast.Constant) and isinstance(item.value, str))
    if not arguments or len(ids) != len(arguments):
        raise CatalogueError(
            f"{where}: the ids of this scenario can not be read: @{ast.unparse(decorator)}",
            f"one to three ids as plain texts, as in {EXAMPLE}",
            "write the ids out",
        )
    return ids
