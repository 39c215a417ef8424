"""Wrong host agents: what a killed start, an end at an odd moment, an old heartbeat or an agent's habit brings out.

HA-03, HA-07, HA-08, HA-20 and HA-22: the wrong versions that pass where everything comes in its usual order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lasttick.model.lease import Holder
from lasttick.mutants import Mutant
from lasttick.reference import durable
from lasttick.reference.hostagent import identity, private_file
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls, Turns
from lasttick.reference.hostagent.lease_table import LeaseTable
from lasttick.reference.hostagent.private_file import PrivateFileError

Wrap = Callable[..., Any]


# -- HA-03: killed within a start


def in_place(name: str) -> Callable[[Wrap], Wrap]:
    """The file of that name has its name before it is whole; the others are made as they should be."""

    def wrong(right: Wrap) -> Wrap:
        def create(path: Path, content: bytes) -> bool:
            if path.name != name:
                return bool(right(path, content))
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, private_file.MODE)
            durable.write_all(fd, content)
            os.close(fd)
            return True

        return create

    return wrong


def set_up_together(right: Wrap) -> Wrap:
    """Identity and password come from one set-up, so a folder with an identity must have a password."""
    seen: dict[Path, bool] = {}

    def load_or_create(path: Path, **how: Any) -> Any:
        if path.name == identity.IDENTITY_FILE_NAME:
            seen[path.parent] = path.exists()
        if path.name == identity.CONSOLE_FILE_NAME and seen.get(path.parent) and not path.exists():
            raise PrivateFileError(f"{path} is missing", "a folder that was set up", "restore it")
        return right(path, **how)

    return load_or_create


def closed_at_the_end(right: Wrap) -> Wrap:
    """The file is made as the umask has it and closed to others once it is in place."""

    def create(path: Path, content: bytes) -> bool:
        temp = path.with_name(f".{path.name}.{os.getpid()}.0.tmp")
        try:
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return bool(right(path, content))
        durable.write_all(fd, content)
        os.close(fd)
        made = durable.publish(temp, path)
        if made:
            path.chmod(private_file.MODE)
        temp.unlink()
        return made

    return create


def finished_by_the_next(right: Wrap) -> Wrap:
    """A left-over temporary file is taken for the work of a start that was nearly done, and put in place."""

    def create(path: Path, content: bytes) -> bool:
        for temp in sorted(path.parent.glob(f".{path.name}.*.tmp")):
            with suppress(OSError):
                if temp.stat().st_size and durable.publish(temp, path):
                    return False  # as if another process had been first: read it
        return bool(right(path, content))

    return create


# -- HA-07: ended at an odd moment


def only_holders_are_buried(right: Wrap) -> Wrap:
    """A session that holds nothing has nothing to lose, so its end is not remembered."""

    def end_holder(self: LeaseTable, now_ns: int, holder: Holder) -> list[str]:
        return list(right(self, now_ns, holder)) if holder in self._held_by else []

    return end_holder


def unpin_what_was_driven(right: Wrap) -> Wrap:
    """A call that was given up before its driver began goes straight to its end, past the unpinning."""

    async def _unpin(self: LeasedCalls, call: DriverCall) -> None:
        if not (call.answer.cancelled() and call.result is None and call.error is None):
            await right(self, call)

    return _unpin


def give_to_the_first(self: Turns, device_id: str, holder: Holder) -> None:
    """The first in line gets the turn, also when it is leaving the line at this very moment."""
    line = self._lines.pop((device_id, holder), None)
    if line:
        self._lines[(device_id, holder)] = line
        turn = line.popleft()
        if not turn.done():
            turn.set_result(True)


KILLS, TURNS = "hostagent/token-kills/", "hostagent/session-end-turns/"

MUTANTS: list[Mutant] = [
    Mutant(
        "hostagent/identity-written-in-place",
        breaks="HA-03",
        text="the identity has its name before it is whole: a kill within the write leaves a torn one",
        killed_by=f"{KILLS}killed-within-the-write-of-each-file[host_identity.json]",
        patch=lambda seam: seam.wrap(private_file, "create", in_place(identity.IDENTITY_FILE_NAME)),
    ),
    Mutant(
        "hostagent/password-written-in-place",
        breaks="HA-03",
        text="the console's password has its name before it is whole: a kill within the write leaves a torn one",
        killed_by=f"{KILLS}killed-within-the-write-of-each-file[host_console.json]",
        patch=lambda seam: seam.wrap(private_file, "create", in_place(identity.CONSOLE_FILE_NAME)),
    ),
    Mutant(
        "hostagent/half-made-folder-refused",
        breaks="HA-03",
        text="after a kill between identity and password no start succeeds any more",
        killed_by=f"{KILLS}killed-before-each-file-operation[serve]",
        patch=lambda seam: seam.wrap(private_file, "load_or_create", set_up_together),
    ),
    Mutant(
        "hostagent/token-closed-at-the-end",
        breaks="HA-03",
        text="the token's file is readable by all until its last step: a kill before that leaves it so",
        killed_by=f"{KILLS}killed-before-each-file-operation[mcp-token]",
        patch=lambda seam: seam.wrap(private_file, "create", closed_at_the_end),
    ),
    Mutant(
        "hostagent/left-over-put-in-place",
        breaks="HA-03",
        text="what a killed process left over is put in place by the next start",
        killed_by=f"{KILLS}what-a-killed-process-left-over-is-nobodys[host_mcp_token.json]",
        patch=lambda seam: seam.wrap(private_file, "create", finished_by_the_next),
    ),
    Mutant(
        "hostagent/empty-handed-end-forgotten",
        breaks="HA-07",
        ruling=6,
        text="the end of a session that holds nothing is not remembered: its call on the way takes a device after it",
        killed_by=f"{TURNS}an-end-at-each-turn-of-a-call[quick-delete]",
        patch=lambda seam: seam.wrap(LeaseTable, "end_holder", only_holders_are_buried),
    ),
    Mutant(
        "hostagent/given-up-call-stays-pinned",
        breaks="HA-07",
        ruling=1,
        text="a call that is given up after it took the device and before its driver began pins it for ever",
        killed_by=f"{TURNS}an-end-at-each-turn-of-a-call[quick-cancel]",
        patch=lambda seam: seam.wrap(LeasedCalls, "_unpin", unpin_what_was_driven),
    ),
    Mutant(
        "hostagent/turn-given-to-who-leaves",
        breaks="HA-07",
        ruling=12,
        text="a waiting call that is given up in the instant in which its turn comes keeps the turn, for ever",
        killed_by=f"{TURNS}a-waiting-call-is-cancelled-at-each-turn-of-its-turn",
        patch=lambda seam: seam.replace(Turns, "give", give_to_the_first),
    ),
]
