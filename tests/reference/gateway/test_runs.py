"""Run ids that nobody can guess."""

from __future__ import annotations

import uuid
from typing import Any

from .platform_rig import Rig, with_platform


def test_run_ids_are_version_4_uuids() -> None:
    async def body(rig: Rig) -> None:
        ids = [uuid.UUID(rig.run()) for _ in range(200)]
        assert len(set(ids)) == 200
        assert {found.version for found in ids} == {4}
        # 122 random bits: each of the others is sometimes set, and sometimes not.
        assert (_or(ids) ^ _and(ids)).bit_count() == 122

    with_platform(body)


def _or(ids: list[Any]) -> int:
    all_set = 0
    for found in ids:
        all_set |= found.int
    return all_set


def _and(ids: list[Any]) -> int:
    all_set = (1 << 128) - 1
    for found in ids:
        all_set &= found.int
    return all_set
