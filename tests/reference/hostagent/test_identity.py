"""Identity and console password: made once, kept, private."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lasttick.reference.hostagent.identity import load_or_create_identity, load_or_create_password
from lasttick.reference.hostagent.private_file import PrivateFileError


class Clock:
    def now_ns(self) -> int:
        return 0

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None: ...


class Counting:
    def __init__(self) -> None:
        self.n = 0

    def token_bytes(self, n: int) -> bytes:
        self.n += 1
        return bytes([self.n]) * n


def test_the_identity_is_made_once(tmp_path: Path) -> None:
    entropy = Counting()
    first = load_or_create_identity(tmp_path, clock=Clock(), entropy=entropy)
    assert first.host_id == "host-0101010101010101"
    assert load_or_create_identity(tmp_path, clock=Clock(), entropy=entropy) == first
    assert entropy.n == 1
    record = json.loads((tmp_path / "host_identity.json").read_text())
    assert record == {"version": 1, "host_id": first.host_id, "created_at": "2026-01-01T00:00:00+00:00"}


def test_the_password_is_made_once_and_private(tmp_path: Path) -> None:
    entropy = Counting()
    first = load_or_create_password(tmp_path, clock=Clock(), entropy=entropy)
    assert len(first) == 24
    assert load_or_create_password(tmp_path, clock=Clock(), entropy=entropy) == first
    assert (tmp_path / "host_console.json").stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize("host_id", ["", "../x", "a b", "x" * 65])
def test_an_identity_that_cannot_stand_in_a_url_is_refused(tmp_path: Path, host_id: str) -> None:
    path = tmp_path / "host_identity.json"
    path.write_text(json.dumps({"version": 1, "host_id": host_id, "created_at": "2026-01-01T00:00:00Z"}))
    path.chmod(0o600)
    with pytest.raises(PrivateFileError, match="host_id"):
        load_or_create_identity(tmp_path, clock=Clock(), entropy=Counting())
