"""How long is an ended holder remembered? Long enough for every call under way, and not for ever (HA-18, ruling 6)."""

from __future__ import annotations

from lasttick.model.lease import Granted, Holder, Refused
from lasttick.reference.hostagent.lease_table import ENDED_KEEP_TTLS, ENDED_KEPT, LeaseTable

TTL_NS = 60
KEEP_NS = ENDED_KEEP_TTLS * TTL_NS
FIRST = Holder("mcp", "first")


def end_others(table: LeaseTable, now_ns: int, count: int, prefix: str = "other") -> None:
    for number in range(count):
        table.end_holder(now_ns, Holder("mcp", f"{prefix}-{number}"))


def refused_as_ended(table: LeaseTable, now_ns: int) -> bool:
    return table.acquire(now_ns, "phone-1", FIRST) == Refused("phone-1", None, "ended")


def test_among_the_youngest_it_is_refused_however_late() -> None:
    table = LeaseTable(TTL_NS)
    table.end_holder(0, FIRST)
    end_others(table, 1, ENDED_KEPT - 1)
    table.end_holder(1_000 * KEEP_NS, Holder("mcp", "other-0"))  # had ended already: counts for nothing
    assert refused_as_ended(table, 1_000 * KEEP_NS)


def test_within_the_hour_it_is_refused_however_many_ended_since() -> None:
    table = LeaseTable(TTL_NS)
    table.end_holder(0, FIRST)
    end_others(table, KEEP_NS - 1, 10 * ENDED_KEPT)
    assert refused_as_ended(table, KEEP_NS - 1)


def test_old_and_many_ends_ago_it_is_forgotten() -> None:
    table = LeaseTable(TTL_NS)
    table.end_holder(0, FIRST)
    end_others(table, KEEP_NS, ENDED_KEPT)
    assert table.acquire(KEEP_NS, "phone-1", FIRST) == Granted("phone-1", FIRST, fresh=True)


def test_a_holder_whose_call_still_runs_is_remembered_and_holds_up_nobody_else() -> None:
    table = LeaseTable(TTL_NS)
    table.begin_use(0, "phone-1", FIRST)
    table.end_holder(0, FIRST)
    end_others(table, 0, ENDED_KEPT, "early")
    end_others(table, KEEP_NS, ENDED_KEPT, "late")
    assert table.has_ended(FIRST)
    assert not table.has_ended(Holder("mcp", "early-0"))
    assert table.end_use(KEEP_NS, "phone-1", FIRST)
    assert refused_as_ended(table, KEEP_NS)


def test_any_number_of_ends_over_time_leaves_a_bounded_number_of_tombstones() -> None:
    table = LeaseTable(TTL_NS)
    for number in range(20 * ENDED_KEPT):
        table.end_holder(number * KEEP_NS // 100, Holder("mcp", f"session-{number}"))
    assert len(table._ended) <= ENDED_KEPT + 1
