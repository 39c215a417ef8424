"""One host agent per identity folder, and the refusal says who has it (HA-23)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lasttick.reference.hostagent.instance_lock import InstanceLock, InstanceLockError


def test_a_second_one_is_refused_with_the_owners_pid(tmp_path: Path) -> None:
    with InstanceLock(tmp_path):
        with pytest.raises(InstanceLockError, match=rf"pid {os.getpid()}\).*; expected one host agent") as caught:
            InstanceLock(tmp_path).acquire()
        assert caught.value.pid == os.getpid()
    with InstanceLock(tmp_path):
        pass
    assert not (tmp_path / "host_agent.pid").exists()


def test_a_killed_owner_leaves_the_folder_free(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib\n"
        "from lasttick.reference.hostagent.instance_lock import InstanceLock\n"
        "InstanceLock(pathlib.Path(sys.argv[1])).acquire()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=30)
    assert (tmp_path / "host_agent.pid").exists()
    with InstanceLock(tmp_path):
        assert (tmp_path / "host_agent.pid").read_text() == f"{os.getpid()}\n"


def test_an_unreadable_pid_is_unknown(tmp_path: Path) -> None:
    with InstanceLock(tmp_path):
        (tmp_path / "host_agent.pid").write_text("somebody")
        with pytest.raises(InstanceLockError, match="pid unknown"):
            InstanceLock(tmp_path).acquire()


def test_folders_that_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InstanceLockError, match="cannot be locked"):
        InstanceLock(tmp_path / "file").acquire()
    (tmp_path / "d" / "host_agent.pid").mkdir(parents=True)
    with pytest.raises(InstanceLockError, match="cannot be written"):
        InstanceLock(tmp_path / "d").acquire()
    (tmp_path / "d" / "host_agent.pid").rmdir()
    with InstanceLock(tmp_path / "d"):
        pass
