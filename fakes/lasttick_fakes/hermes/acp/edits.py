"""What does the agent do to files, and what does it show a person before? `write_file`, `patch`, `read_file`.

Files are real, and only those inside the session's folder: a path that leads out of it is asked about like any other,
but never read or written, whatever a person allowed, because this is a fake. Relative paths start at that folder.
Source: contract hermes, section 4.4; results for the model: recorded.
"""

from __future__ import annotations

import difflib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick_fakes.hermes.acp import v4a

SENSITIVE_NAMES = (".env", ".env.local", ".env.production", "id_rsa", "id_ed25519")
SENSITIVE_FOLDERS = (".git", ".ssh")
DENIED = json.dumps({"error": "Edit approval denied by ACP client; file was not modified."})


class BadEdit(ValueError):
    """The edit cannot be prepared or made. The message is for the model."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit as a person is shown it. `old` None: there is no such file."""

    tool: str
    path: str
    old: str | None
    new: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """What a finished edit did to one file. `size_bytes` None: it was deleted."""

    path: str
    size_bytes: int | None


def proposal(tool: str, arguments: Mapping[str, Any], folder: Path) -> Proposal:
    """Raises BadEdit."""
    if tool == "patch" and arguments.get("mode", "replace") != "replace":
        patch = _patch_of(arguments)
        named = v4a.paths(patch)
        if not named:
            raise BadEdit("no file paths found in V4A patch")
        old = _read(folder, named[0]) if len(named) == 1 else None
        return Proposal(tool, ", ".join(named), old, patch, arguments)
    path = _path_of(arguments)
    old = _read(folder, path)
    if tool == "patch":
        if old is None:
            raise BadEdit(f"Failed to read file: {path}")
        return Proposal(tool, path, old, _replaced(path, old, arguments), arguments)
    if not isinstance(arguments.get("content"), str):
        raise BadEdit("content required")
    return Proposal(tool, path, old, arguments["content"], arguments)


def needs_nobody(proposed: Proposal, mode: str, folder: Path) -> bool:
    """Whether the session's mode lets it pass without a question."""
    parts = [part.lower() for part in Path(proposed.path).parts]
    sensitive = any(part in SENSITIVE_FOLDERS for part in parts) or (bool(parts) and parts[-1] in SENSITIVE_NAMES)
    if mode not in ("accept_edits", "dont_ask") or sensitive:
        return False
    place = (folder / proposed.path).resolve()
    near = (folder.resolve(), Path(tempfile.gettempdir()).resolve())
    return mode == "dont_ask" or any(place.is_relative_to(root) for root in near)


def perform(tool: str, arguments: Mapping[str, Any], folder: Path) -> tuple[str, list[Written]]:
    """Do it. The result for the model as JSON, and what was done to files. Raises BadEdit."""
    try:
        if tool == "patch" and arguments.get("mode", "replace") != "replace":
            return _patch(_patch_of(arguments), folder)
        proposed = proposal(tool, arguments, folder)
        place = _inside(folder, proposed.path)
        written = _write(place, proposed.path, proposed.new)
    except OSError as error:
        raise BadEdit(f"{type(error).__name__}: {error}") from None
    where = {"resolved_path": str(place), "files_modified": [str(place)]}
    if tool == "write_file":
        result = {"bytes_written": written.size_bytes, "dirs_created": True, "lint": _lint(proposed.path), **where}
    else:
        shown = difflib.unified_diff(
            (proposed.old or "").splitlines(keepends=True),
            proposed.new.splitlines(keepends=True),
            f"a/{place}",
            f"b/{place}",
        )
        result = {"success": True, "diff": "".join(shown), "lint": _lint(proposed.path), **where}
    return json.dumps(result, ensure_ascii=False), [written]


def read_file(arguments: Mapping[str, Any], folder: Path) -> str:
    """The result of `read_file` for the model: numbered lines. Raises BadEdit."""
    path = _path_of(arguments)
    text = _read(folder, path)
    if text is None:
        raise BadEdit(f"File not found: {path}")
    lines = text.splitlines()
    numbered = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, 1))
    return json.dumps({"content": numbered, "total_lines": len(lines)}, ensure_ascii=False)


def _patch(patch: str, folder: Path) -> tuple[str, list[Written]]:
    try:
        changes = v4a.changes(patch, lambda path: _read(folder, path))
    except v4a.BadPatch as error:
        raise BadEdit(str(error)) from None
    places = [_inside(folder, change.path) for change in changes]
    written, diffs = [], []
    for change, place in zip(changes, places, strict=True):
        old, new = {"Add": ("/dev/null", "b/{}"), "Delete": ("a/{}", "/dev/null")}.get(change.action, ("a/{}", "b/{}"))
        diffs.append("\n".join([f"--- {old}".format(change.path), f"+++ {new}".format(change.path), *change.lines]))
        if change.text is None:
            place.unlink()
            written.append(Written(change.path, None))
        else:
            written.append(_write(place, change.path, change.text))
    created = [change.path for change in changes if change.action == "Add"]
    result = {"success": True, "diff": "\n".join(diffs), **({"files_created": created} if created else {})}
    result["lint"] = {change.path: _lint(change.path) for change in changes}
    result |= {"files_modified": [str(place) for place in places], "resolved_path": str(places[0])}
    return json.dumps(result, ensure_ascii=False), written


def _path_of(arguments: Mapping[str, Any]) -> str:
    path = arguments.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise BadEdit("path required")
    return path


def _patch_of(arguments: Mapping[str, Any]) -> str:
    patch = arguments.get("patch")
    if not isinstance(patch, str) or not patch:
        raise BadEdit("patch content required")
    return patch


def inside(folder: Path, path: str) -> Path | None:
    """The place of `path`; None when it is not strictly inside `folder`, or the folder is a whole file system."""
    root, place = folder.resolve(), (folder / path).resolve()
    return None if root == Path(root.anchor) or place == root or not place.is_relative_to(root) else place


def _inside(folder: Path, path: str) -> Path:
    place = inside(folder, path)
    if place is None:
        raise BadEdit(f"{path} is not inside {folder}; this fake touches only files of the session's folder")
    return place


def _read(folder: Path, path: str) -> str | None:
    """What is outside is not there."""
    place = inside(folder, path)
    try:
        return place.read_text(encoding="utf-8", errors="replace") if place is not None and place.exists() else None
    except OSError:
        raise BadEdit(f"Cannot edit non-file path: {path}") from None


def _replaced(path: str, text: str, arguments: Mapping[str, Any]) -> str:
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        raise BadEdit("old_string and new_string required")
    found = text.count(old) if old else 0
    if found == 0:
        raise BadEdit(f"Could not find match for old_string in {path}")
    if found > 1 and not arguments.get("replace_all"):
        raise BadEdit(f"Found {found} matches for old_string in {path}; it must be unique, or replace_all be true")
    return text.replace(old, new)


def _write(place: Path, path: str, text: str) -> Written:
    data = text.encode("utf-8", "replace")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return Written(path, len(data))


def _lint(path: str) -> dict[str, str]:
    return {"status": "skipped", "message": f"No linter for {Path(path).suffix} files"}
