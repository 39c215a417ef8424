"""Wrong versions of boot registration: what becomes of an operator's configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from lasttick.mutants import Mutant, Seam
from lasttick.reference.gateway import config_file, config_merge
from lasttick.reference.gateway.agent import TrustedAgent
from lasttick.reference.gateway.config_text import TextError

BOOT = "gateway/boot/"


def without_env(right: Any) -> Callable[..., Any]:
    """As if a child inherited the program's environment."""
    return lambda *given: {name: value for name, value in right(*given).items() if name != "env"}


def values_written(right: Any) -> Callable[..., Any]:
    """At boot each variable that is set stands in the file with its value."""

    def register(self: TrustedAgent) -> None:
        def filled(entry: Any) -> Callable[..., Any]:
            def server_entry(*given: Any) -> dict[str, Any]:
                ours = entry(*given)
                return {**ours, "env": {name: self._environ.get(name, ref) for name, ref in ours["env"].items()}}

            return server_entry

        with Seam().wrap(config_merge, "server_entry", filled):
            right(self)

    return register


def round_trip(right: Any) -> Callable[..., Any]:
    """Loaded, changed and dumped: the data is right, the text another."""

    def merged(text: str, ours: Mapping[str, Any]) -> str:
        result = right(text, ours)
        return text if result is text else str(yaml.safe_dump(yaml.safe_load(result), sort_keys=False))

    return merged


def own_entry_only(right: Any) -> Callable[..., Any]:
    """The entry is set, whatever was there: an operator's keys in it go."""

    def merged(text: str, ours: Mapping[str, Any]) -> str:
        result = right(text, ours)
        data = yaml.safe_load(result)
        if data["mcp_servers"]["humanwork"] == ours:
            return str(result)
        data["mcp_servers"]["humanwork"] = dict(ours)
        return str(yaml.safe_dump(data, sort_keys=False))

    return merged


def says_so_each_time(right: Any) -> Callable[..., Any]:
    return lambda text, ours: right(text, ours) + "# humanwork registered at boot\n"


def begins_anew(right: Any) -> Callable[..., Any]:
    """What cannot be merged is no configuration, so a new one is begun."""

    def merged(text: str, ours: Mapping[str, Any]) -> str:
        try:
            return str(right(text, ours))
        except TextError:
            return str(right("", ours))

    return merged


def made_writable(right: Any) -> Callable[..., Any]:
    """Whoever owns the file may write it, whatever its mode says."""

    def _read(path: Path) -> Any:
        if path.is_file():
            path.chmod(path.stat().st_mode | 0o200)
        return right(path)

    return _read


def in_place(path: Path, found: Any, after: bytes) -> bool:
    path.write_bytes(after)
    return True


def last_writer_wins(temp: Path, path: Path, before: bytes, after: bytes) -> bool:
    """Put in place of whatever stands there by now."""
    os.replace(temp, path)
    return True


def any_encoding(right: Any) -> Callable[..., Any]:
    """A file in another encoding is read in that, and written in UTF-8."""

    def decoded(content: bytes) -> bytes:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            name = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
            return content.decode(name).encode("utf-8")
        return content

    return lambda path, changed: right(path, lambda content: changed(decoded(content)))


def with_a_copy(right: Any) -> Callable[..., Any]:
    """What stood there before is kept under another name."""

    def _replaced(temp: Path, path: Path, before: bytes, after: bytes) -> bool:
        path.with_suffix(".bak").write_bytes(before)
        return bool(right(temp, path, before, after))

    return _replaced


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/registration-without-env",
        breaks="GW-16",
        ruling=7,
        text="the registration names no variables: the server's child has no run, no list and no secret",
        killed_by=BOOT + "the-server-gets-what-the-registration-names",
        patch=lambda seam: seam.wrap(config_merge, "server_entry", without_env),
    ),
    Mutant(
        "gateway/registration-writes-secret-value",
        breaks="GW-16",
        ruling=7,
        text="the registration holds the secret itself, in a file that outlives the turn",
        killed_by=BOOT + "the-server-gets-what-the-registration-names",
        patch=lambda seam: seam.wrap(TrustedAgent, "register", values_written),
    ),
    Mutant(
        "gateway/registration-round-trips",
        breaks="GW-16",
        text="the whole file is loaded and dumped: comments, quotes, anchors and line ends go",
        killed_by=BOOT + "an-operators-file-keeps-every-other-byte",
        patch=lambda seam: seam.wrap(config_merge, "merged", round_trip),
    ),
    Mutant(
        "gateway/registration-overwrites-operator-server",
        breaks="GW-16",
        text="an operator's keys inside the server's entry are overwritten with it",
        killed_by=BOOT + "what-an-operator-wrote-into-our-block-survives",
        patch=lambda seam: seam.wrap(config_merge, "merged", own_entry_only),
    ),
    Mutant(
        "gateway/registration-not-idempotent",
        breaks="GW-16",
        text="each boot adds a line",
        killed_by=BOOT + "an-operators-file-keeps-every-other-byte",
        patch=lambda seam: seam.wrap(config_merge, "merged", says_so_each_time),
    ),
    Mutant(
        "gateway/registration-begins-anew",
        breaks="GW-16",
        text="a file that cannot be merged is replaced by one with our server alone",
        killed_by=BOOT + "what-cannot-be-merged-is-left-as-it-is[no YAML]",
        patch=lambda seam: seam.wrap(config_merge, "merged", begins_anew),
    ),
    Mutant(
        "gateway/registration-forces-read-only",
        breaks="GW-16",
        text="a file that its operator made read-only is made writable, and written",
        killed_by=BOOT + "what-is-no-file-to-write-is-left-as-it-is[read-only]",
        patch=lambda seam: seam.wrap(config_file, "_read", made_writable),
    ),
    Mutant(
        "gateway/registration-keeps-nothing-after-kill",
        breaks="GW-16",
        text="the file is written in place: a boot that is killed meanwhile leaves a torn one",
        killed_by=BOOT + "a-kill-within-the-write-leaves-the-old-file[60]",
        patch=lambda seam: seam.replace(config_file, "_written", in_place),
    ),
    Mutant(
        "gateway/registration-last-writer-wins",
        breaks="GW-16",
        text="what the agent wrote while the boot was reading is overwritten",
        killed_by=BOOT + "what-the-agent-writes-meanwhile-is-not-lost",
        patch=lambda seam: seam.replace(config_file, "_replaced", last_writer_wins),
    ),
    Mutant(
        "gateway/registration-in-another-encoding",
        breaks="GW-16",
        text="a file that is not UTF-8 is read by guess, and each byte of it may be written as another",
        killed_by=BOOT + "what-cannot-be-merged-is-left-as-it-is[UTF-16]",
        patch=lambda seam: seam.wrap(config_file, "change", any_encoding),
    ),
    Mutant(
        "gateway/registration-keeps-a-copy",
        breaks="GW-16",
        text="the old configuration stays beside the new one, readable to all, with the keys that were in it",
        killed_by=BOOT + "two-boots-at-once-write-one-block[a file]",
        patch=lambda seam: seam.wrap(config_file, "_replaced", with_a_copy),
    ),
]
