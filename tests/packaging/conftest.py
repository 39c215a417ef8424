"""The wheel, and an environment that holds it and its dependencies but not this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A package of somebody else: it leaves a note, since what it raises could be caught, and then raises.
POISON = """
from pathlib import Path
with Path({notes!r}).open("a") as notes:
    notes.write(__name__ + "\\n")
raise RuntimeError(f"{{__name__}} of somebody else was imported")
"""
FOREIGN = (
    "harness/__init__.py",
    "harness/lasttick/__init__.py",
    "fakes/__init__.py",
    "fakes/lasttick_fakes/__init__.py",
    "scenarios/__init__.py",
    "scenarios/hostagent/__init__.py",
    "scenarios/hostagent/steps.py",
    "scenarios/hostagent/test_lease.py",
)
# What would let the outer test run, or this checkout, into the commands below.
KEPT_OUT = ("PYTHON", "PYTEST", "LASTTICK", "VIRTUAL_ENV", "COV_")


@dataclass(frozen=True)
class Project:
    """A folder of somebody else that uses the installed package."""

    folder: Path
    environment: Path

    @classmethod
    def new(cls, folder: Path, environment: Path) -> Project:
        made = cls(folder, environment)
        for name in FOREIGN:
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(POISON.format(notes=str(made.notes)))
        return made

    @property
    def notes(self) -> Path:
        return self.folder / "imported.txt"

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("python", arguments)

    def lasttick(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("lasttick", arguments)

    def _run(self, program: str, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        self.notes.write_text("")
        done = subprocess.run(
            [self.environment / "bin" / program, *arguments],
            cwd=self.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        imported = sorted(set(self.notes.read_text().split()))
        assert not imported, f"of somebody else: {imported}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(KEPT_OUT)}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(
        build, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Somebody's project, and in its `.venv`, as most people have it, the wheel."""
    folder = tmp_path_factory.mktemp("project")
    environment = folder / ".venv"
    venv.create(environment, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    _add_dependencies(tmp_path_factory.mktemp("dependencies"), packages)
    install = [sys.executable, "-m", "pip", "--isolated", "--python", str(environment / "bin" / "python")]
    install += ["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", str(wheel)]
    done = subprocess.run(install, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Project.new(folder, environment)


@pytest.fixture(scope="session")
def elsewhere(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Another project of that kind, whose environment is not inside it: pytest names the scenarios otherwise then."""
    return Project.new(tmp_path_factory.mktemp("elsewhere"), project.environment)


def _add_dependencies(links: Path, packages: Path) -> None:
    """Everything that is installed for this test run but the project itself, by links: no package index is asked."""
    for source in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
        for entry in sorted(Path(source).iterdir()):
            if "lasttick" not in entry.name and entry.suffix != ".pth" and not (links / entry.name).exists():
                (links / entry.name).symlink_to(entry)
    (packages / "dependencies.pth").write_text(f"{links}\n")
