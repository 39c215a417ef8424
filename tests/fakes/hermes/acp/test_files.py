"""What do the agent's tools really do to a folder, and what only seemingly?"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lasttick_fakes.hermes.acp import edits
from lasttick_fakes.hermes.acp.commands import RECURSIVE_DELETE, danger, shell_in

V4A = """*** Begin Patch
*** Update File: old.txt
@@ top
 one
-two
+zwei
 three
*** Add File: deep/new.txt
+first
+second
*** Delete File: gone.txt
*** End Patch"""


def patch(**arguments: Any) -> dict[str, Any]:
    return {"mode": "patch", **arguments}


def test_a_v4a_patch_updates_adds_and_deletes(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "gone.txt").write_text("x")
    proposed = edits.proposal("patch", patch(patch=V4A), tmp_path)
    assert (proposed.path, proposed.old, proposed.new) == ("old.txt, deep/new.txt, gone.txt", None, V4A)
    result, written = edits.perform("patch", patch(patch=V4A), tmp_path)
    assert json.loads(result)["files_created"] == ["deep/new.txt"]
    assert [(one.path, one.size_bytes) for one in written] == [
        ("old.txt", 15),
        ("deep/new.txt", 12),
        ("gone.txt", None),
    ]
    assert (tmp_path / "old.txt").read_text() == "one\nzwei\nthree\n"
    assert (tmp_path / "deep/new.txt").read_text() == "first\nsecond"
    assert not (tmp_path / "gone.txt").exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("write_file", {"content": "x"}, "path required"),
        ("write_file", {"path": "a\0b", "content": "x"}, "path required"),
        ("write_file", {"path": "a"}, "content required"),
        ("write_file", {"path": "folder", "content": "x"}, "Cannot edit non-file"),
        ("write_file", {"path": "a.txt/b", "content": "x"}, "Error"),
        ("patch", {"path": "none", "old_string": "a", "new_string": "b"}, "Failed to read"),
        ("patch", {"path": "a.txt", "old_string": "z", "new_string": "b"}, "Could not find"),
        ("patch", {"path": "a.txt", "old_string": "", "new_string": "b"}, "Could not find"),
        ("patch", {"path": "a.txt", "old_string": "a", "new_string": "b"}, "2 matches"),
        ("patch", {"path": "a.txt", "old_string": 1, "new_string": "b"}, "required"),
        ("patch", patch(), "patch content required"),
        ("patch", patch(patch="*** Begin Patch\n*** End Patch"), "no file paths"),
        ("patch", patch(patch="*** Update File: none\n-a\n"), "Failed to read"),
        ("patch", patch(patch="*** Update File: a.txt\n-q\n"), "Could not find the lines"),
        ("patch", patch(patch="*** Add File: ../out.txt\n+a\n"), "not inside"),
    ],
)
def test_an_impossible_edit_changes_nothing(tool: str, arguments: dict[str, Any], why: str, tmp_path: Path) -> None:
    folder = tmp_path / "session"
    (folder / "folder").mkdir(parents=True)
    (folder / "a.txt").write_text("aa")
    with pytest.raises(edits.BadEdit, match=why):
        edits.perform(tool, arguments, folder)
    assert (folder / "a.txt").read_text() == "aa"
    assert not (tmp_path / "out.txt").exists()


def test_replace_all_replaces_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("aa")
    edits.perform("patch", {"path": "a.txt", "old_string": "a", "new_string": "b", "replace_all": True}, tmp_path)
    assert (tmp_path / "a.txt").read_text() == "bb"


def test_no_place_is_inside_a_whole_file_system_nor_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    (tmp_path / "session/link").symlink_to(tmp_path)
    assert edits.inside(Path("/"), "tmp/x") is None
    assert edits.inside(tmp_path / "session", "link/x") is None
    assert edits.inside(tmp_path / "session", ".") is None
    assert edits.inside(tmp_path / "session", "deep/../x") == (tmp_path / "session/x").resolve()


@pytest.mark.parametrize("command", ["rm -rf ./x", "rm -fr x", "cd /tmp && rm -r x", "sudo rm -Rr x"])
def test_every_recursive_delete_is_one_class(command: str) -> None:
    assert danger(command) == RECURSIVE_DELETE


@pytest.mark.parametrize("command", ["echo hi", "rm x", "ls -r", "git push", "firm -r x"])
def test_other_commands_are_not_asked(command: str) -> None:
    assert danger(command) is None


@pytest.mark.parametrize(
    ("command", "how", "output"),
    [
        ("rm -rf ./a ./b.txt", "real", ""),
        ("rm -rf ./nothing-there", "real", ""),
        ("rm -rf .", "simulated", ""),
        ("rm -rf ../session/a", "real", ""),
        ("rm -rf ../other", "simulated", ""),
        ("rm -rf /", "simulated", ""),
        ("rm -rf a*", "simulated", ""),
        ("rm -rf a && echo done", "simulated", ""),
        ("rm 'a", "simulated", ""),
        ("rm a", "simulated", ""),
        ("echo hi $NAME", "toy", "hi there"),
        ("echo hi > a/file", "simulated", ""),
        ("make install", "simulated", ""),
        ("", "simulated", ""),
    ],
)
def test_what_of_a_command_is_real(command: str, how: str, output: str, tmp_path: Path) -> None:
    folder = tmp_path / "session"
    for place in (folder / "a/deep", tmp_path / "other"):
        place.mkdir(parents=True)
    (folder / "b.txt").write_text("b")
    ran: list[tuple[str, str, int]] = []
    shell = shell_in(folder, lambda *told: ran.append(told))

    async def main() -> tuple[str, int]:
        return await shell(command, {"NAME": "there"})

    assert asyncio.run(main()) == (output, 0)
    assert ran == [(command, how, 0)]
    assert (tmp_path / "other").exists()
    assert (folder / "a").exists() == (how != "real" or "nothing" in command)
    assert (folder / "b.txt").exists() == ("b.txt" not in command)
    assert list(folder.rglob("file")) == []
