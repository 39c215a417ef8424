"""Who may import whom: the design's rules over the project's own modules, and no third party at the centre."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lasttick

ROOT = Path(__file__).parents[1]
PACKAGES = {"lasttick": ROOT / "harness/lasttick", "lasttick_fakes": ROOT / "fakes/lasttick_fakes"}

# What each room may import of the project. `targets` wires everything; `cli` and `plugin` may import all.
ALLOWED: dict[str, set[str]] = {
    "engine": {"ports"},
    "model": set(),
    "ports": {"model"},
    "reference": {"model", "ports"},
    "lasttick_fakes": {"model", "ports", "engine"},
    "checks": {"engine", "model"},
    "requirements": set(),
    "evidence": {"engine", "checks"},
    "report": {"evidence"},
    "mutants": {"model", "ports", "reference", "compare"},
    "marks": {"requirements"},
    "soak_collection": set(),
    "explore": {"targets", "evidence", "engine"},
    "compare": {"targets", "mutants", "bench", "model", "engine", "lasttick_fakes"},
    "conformance": {"targets", "lasttick_fakes"},
    "bench": {"targets", "laws", "evidence", "engine", "model", "ports"},
    "laws": {"model", "targets", "evidence", "engine", "checks", "requirements", "ports", "lasttick_fakes"},
    "sweep": {"targets", "evidence", "mutants", "requirements", "marks", "plugin"},
    "reproduce": {"targets", "mutants", "evidence", "model", "lasttick_fakes"},
    "targets": {
        "engine",
        "model",
        "ports",
        "reference",
        "lasttick_fakes",
        "checks",
        "requirements",
        "evidence",
        "mutants",
    },
}
FREE = {"cli", "plugin", "__main__", "__init__"}
NO_THIRD_PARTY = {"engine", "model", "ports", "checks"}


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in PACKAGES.items():
        for file in sorted(folder.rglob("*.py")):
            room = package if package != "lasttick" else file.relative_to(folder).parts[0].removesuffix(".py")
            yield room, file


def imports(file: Path) -> Iterator[str]:
    """Full names of all modules that `file` imports, also inside functions and for type checkers only."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = node.level > 0
            assert not relative or file.is_relative_to(ROOT / "scenarios"), f"{file}: relative; expected full names"
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def room_of(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] == "lasttick_fakes":
        return "lasttick_fakes"
    if parts[0] == "lasttick" and len(parts) > 1:
        folder = PACKAGES["lasttick"]
        return parts[1] if (folder / parts[1]).is_dir() or (folder / f"{parts[1]}.py").is_file() else None
    return None


CASES = [pytest.param(room, file, id=str(file.relative_to(ROOT))) for room, file in modules()]


@pytest.mark.parametrize(("room", "file"), CASES)
def test_a_room_imports_only_what_it_may(room: str, file: Path) -> None:
    if room in FREE:
        return
    assert room in ALLOWED, f"{room} is a new room: write here what it may import"
    used = {target for name in imports(file) if (target := room_of(name)) is not None and target != room}
    assert used <= ALLOWED[room], f"{room} may not import {sorted(used - ALLOWED[room])}"


@pytest.mark.parametrize(("room", "file"), [case for case in CASES if case.values[0] in NO_THIRD_PARTY])
def test_the_centre_imports_nothing_from_third_parties(room: str, file: Path) -> None:
    tops = {name.partition(".")[0] for name in imports(file)}
    foreign = {top for top in tops if top not in sys.stdlib_module_names and top not in ("lasttick", "")}
    assert not foreign, f"{room} is the centre; it may not import {sorted(foreign)}"


def test_scenarios_use_public_names_and_never_the_reference() -> None:
    allowed = ("lasttick", "lasttick.model", "lasttick_fakes")
    for file in sorted((ROOT / "scenarios").rglob("*.py")):
        for name in imports(file):
            # In a wheel they are lasttick.scenarios, and `scenarios` may be a package of somebody else.
            assert name.partition(".")[0] != "scenarios", f"{file.name} imports {name}; write `from .steps import ...`"
            if name.startswith("lasttick"):
                ours = name in allowed or name.startswith(("lasttick.model.", "lasttick_fakes."))
                # Laws speak verbs; how things are judged is one rule for laws and stories.
                shared = "lasttick.laws" if file.parent.name == "laws" else "lasttick.laws.judges"
                # A recorded exchange is one text for its command and its story; VC-21 is about compare itself.
                own = {"lineup": ("lasttick.reproduce",)}.get(file.parent.name, ())
                own += ("lasttick.compare",) if file.name == "test_compare.py" else ()
                own += ("lasttick.conformance",) if file.name in ("test_official.py", "test_inspector.py") else ()
                ours = ours or name.startswith((shared, "lasttick.checks", *own))
                public = name.removeprefix("lasttick.") in lasttick.__all__
                assert ours or public, f"{file.name} imports {name}; a scenario is written against the World"


def test_no_import_circle_between_files() -> None:
    graph: dict[str, set[str]] = {}
    files: dict[str, Path] = {}
    for package, folder in PACKAGES.items():
        for file in folder.rglob("*.py"):
            dotted = ".".join((package, *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
            files[dotted] = file
    for dotted, file in files.items():
        graph[dotted] = {name for name in top_level_imports(file, set(files)) if name != dotted}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, "import circle: " + " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def top_level_imports(file: Path, known: set[str]) -> Iterator[str]:
    """Our modules that are loaded with this one; `from package import module` needs the module, not the package."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in known or node.module in known:
                    yield name if name in known else str(node.module)


FORBIDDEN = {
    "time": {"time", "monotonic", "time_ns", "monotonic_ns", "sleep"},
    "datetime": {"now", "utcnow", "today"},
    "uuid": {"uuid1", "uuid4"},
    "random": {"random", "randint", "choice", "shuffle", "randbytes"},
    "secrets": {"token_bytes", "token_hex", "token_urlsafe", "choice", "randbelow"},
    "os": {"urandom"},
}
# engine/clock.py and chance.py are the ports' homes, patches.py replaces; the other three run in real time.
MAY_READ = {
    "engine/clock.py",
    "engine/chance.py",
    "engine/patches.py",
    "targets/children.py",
    "targets/process.py",
    "bench/contention.py",
}


@pytest.mark.parametrize(("room", "file"), CASES)
def test_time_and_chance_come_from_the_engines_ports(room: str, file: Path) -> None:
    relative = file.relative_to(ROOT / "harness/lasttick") if "harness" in file.parts else file
    if str(relative) in MAY_READ:
        return
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = FORBIDDEN.get(node.value.id, set())
            assert node.attr not in names, (
                f"{file.name}:{node.lineno} reads {node.value.id}.{node.attr}; expected the Clock or Entropy port"
            )
