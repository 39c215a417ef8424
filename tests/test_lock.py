"""The lock: every requirement pinned with hashes, and no address of an index in it."""

import re
from pathlib import Path

LOCK = (Path(__file__).parents[1] / "requirements.lock").read_text()


def test_every_requirement_is_pinned_and_has_a_hash() -> None:
    entries = re.split(r"\n(?=[a-z0-9])", LOCK.strip())
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+", entry), f"not pinned: {entry[:60]}"
        assert "--hash=sha256:" in entry, f"without a hash: {entry[:60]}"


def test_no_address_is_in_it() -> None:
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@ ", LOCK)
