"""Where ours answers otherwise than the public program, on purpose: the rulings as data.

A row says of which steps it speaks (`when`: the call and what the fakes were told before it), which parts of an
observation may differ there (`where`), what ours shows and what the public program shows. A difference that no row
covers is a fault of one of the two. Source: vaultclaw requirements, rulings 1 to 20, and "Contract 20, item by item".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.compare import when
from lasttick.compare.script import Scene
from lasttick.compare.view import View, answered, has, lacks, matches, nonempty

ANSWER, VAULT, REMOTE = "/answer", "/vault", "/remote"
ENVELOPE = "/answer/result/structuredContent"
DATA = f"{ENVELOPE}/data"
Pattern = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One reading on which the two part. `ours` and `peers` are patterns over a `View`; `relation` is between both."""

    ruling: str
    name: str
    when: Callable[[Scene], bool]
    ours: Pattern
    peers: Pattern
    where: tuple[str, ...] = (ANSWER, VAULT)
    relation: Callable[[View, View], bool] = lambda ours, peers: True

    def kept(self, ours: View) -> bool:
        """Does ours show what the ruling says?"""
        return matches(self.ours, ours)

    def covers(self, ours: View, peers: View, path: str) -> bool:
        """Is a difference at this path the one of this row?"""
        here = any(path == part or path.startswith(f"{part}/") for part in self.where)
        return here and matches(self.peers, peers) and self.relation(ours, peers)


def _same_members(ours: View, peers: View) -> bool:
    return sorted(map(repr, ours["autofilled"])) == sorted(map(repr, peers["autofilled"]))


_ROUTE_PARTS = tuple(f"{DATA}/{name}" for name in ("inputs", "autofilled_inputs", "missing_input_guidance"))
_FAILED_PASSPORT = {"code": "MCP_GMAIL_DRAFT_SEND_FAILED"}

ROWS: tuple[Row, ...] = (
    Row(
        "1",
        "the wait ends at its deadline",
        when.ends_after_deadline,
        {"code": "MCP_WAIT_TIMEOUT"},
        {"ok": True, "data": {"job": {"status": "SUCCEEDED"}}},
    ),
    Row("2", "a bad poll is retried", when.a_poll_fails, {"ok": True}, {"ok": False, "polls": 1}),
    Row(
        "2",
        "at the deadline the newest failure is told",
        when.all_polls_fail,
        {"code": "MCP_WAIT_TIMEOUT", "details": has("latest_error")},
        {"code": "MCP_NETWORK_ERROR", "polls": 1},
    ),
    Row(
        "3",
        "CANCELLED and EXPIRED are terminal",
        when.looks_at_ended,
        {"data": {"approval_state": {"status": "TERMINAL"}}},
        {"data": {"approval_state": {"status": "UNKNOWN"}}},
        (f"{DATA}/approval_state", "/answer/result/content"),
    ),
    Row(
        "3",
        "CANCELLED and EXPIRED end a wait",
        when.waits_for_ended,
        {"ok": True, "polls": 1},
        {"code": "MCP_WAIT_TIMEOUT"},
    ),
    Row(
        "4",
        "an executing call without a known state is no success",
        when.executing_without_state,
        {"code": "MCP_INTERNAL"},
        {"ok": True},
        (ANSWER,),
    ),
    Row("5", "the place ends where the time begins", when.weather, {"timed": False}, {"timed": True}, _ROUTE_PARTS),
    Row(
        "6",
        "a document has a body of its own",
        when.attachment,
        {"data": {"inputs": {"text_plain": has("Attached is my ")}}},
        {"data": {"inputs": {"text_plain": has("Following up regarding ")}}},
        (f"{DATA}/inputs/text_plain", f"{DATA}/autofilled_inputs"),
    ),
    Row(
        "7",
        "what is not valid is not executed",
        when.not_valid,
        {"code": "MCP_VALIDATION_ERROR", "details": has("validation"), "executing": 0},
        {"executing": 1},
    ),
    Row(
        "8",
        "a source's token stays with its origin",
        when.fetches_elsewhere,
        {"elsewhere": lacks("Bearer")},
        {"elsewhere": has("Bearer")},
        (f"{REMOTE}/1",),
    ),
    Row(
        "8",
        "a body has a limit",
        when.huge_body,
        {"code": "MCP_CATALOG_REMOTE_FETCH_FAILED"},
        {"code": "MCP_CATALOG_REMOTE_CHECKSUM_MISMATCH"},
        (ANSWER,),
    ),
    Row(
        "9",
        "an id is one segment of a path",
        when.dots,
        {"code": "MCP_VALIDATION_ERROR", "calls": 0},
        {"ok": answered, "code": lacks("MCP_VALIDATION_ERROR")},
    ),
    Row("9", "an id is escaped", when.needs_escape, {"escaped": True}, {"ok": answered}),
    Row(
        "10",
        "a start goes on without a bundled cookbook",
        when.restarts_without_cookbook,
        {"started": True},
        {"started": False},
    ),
    Row("10", "a route is resolved without it", when.route_without_cookbook, {"ok": True}, {"down": True}),
    Row(
        "10",
        "what was in it is not found",
        when.entry_without_cookbook,
        {"code": "MCP_CATALOG_NOT_FOUND"},
        {"down": True},
    ),
    Row(
        "11",
        "a failed extraction is told",
        when.passport_step("extract_passport_fields"),
        {"code": "MCP_PASSPORT_EXTRACTION_FAILED"},
        _FAILED_PASSPORT,
        (ANSWER,),
    ),
    Row(
        "11",
        "a failed read is told",
        when.passport_step("read_existing_profile", "read_after_extract_profile"),
        {"code": "MCP_PASSPORT_PROFILE_READ_FAILED"},
        _FAILED_PASSPORT,
        (ANSWER,),
    ),
    Row(
        "11",
        "missing fields are asked for",
        when.passport_fields_missing,
        {"code": "MCP_MANUAL_FIELDS_REQUIRED"},
        _FAILED_PASSPORT,
        (ANSWER,),
    ),
    Row(
        "12",
        "a failed look-up loses no hand-off",
        when.look_up_fails,
        {"code": "MCP_APPROVAL_REQUIRED", "details": has('"pending_id_resolved":false')},
        {"ok": False, "code": lacks("MCP_APPROVAL_REQUIRED")},
        (ANSWER,),
    ),
    Row("13", "GRANT is a hand-off", when.grant, {"code": "MCP_APPROVAL_REQUIRED"}, {"ok": True}),
    Row(
        "13",
        "GRANT is pending",
        when.grant_looked_at,
        {"data": {"decision_outcome": "PENDING"}},
        {"data": {"decision_outcome": "UNKNOWN"}},
        (f"{DATA}/decision_outcome", f"{DATA}/approval_state"),
    ),
    Row("13", "an odd pending object is a hand-off", when.odd_pending, {"code": "MCP_APPROVAL_REQUIRED"}, {"ok": True}),
    Row(
        "13",
        "a hand-off has the id that its wait needs",
        when.handoff_without_id,
        {"code": "MCP_INTERNAL"},
        {"code": lacks("MCP_INTERNAL")},
    ),
    Row(
        "14",
        "the environment's token is for the default scope",
        when.environment_token,
        {"session": False},
        {"session": True},
    ),
    Row(
        "15",
        "files win over the index",
        when.stale_index,
        {"data": {"items": nonempty}},
        {"data": {"items": lacks("stale")}},
        (f"{DATA}/items",),
    ),
    Row(
        "16",
        "a profile is read back as it was written",
        when.profile_lost,
        {"code": "MCP_INTERNAL", "executing": 0},
        {"code": lacks("MCP_INTERNAL")},
    ),
    Row(
        "17",
        "a short token is masked whole",
        when.short_token,
        {"data": {"token": "***"}},
        {"data": {"token": lambda token: isinstance(token, str) and len(token) == 9}},
        (f"{DATA}/token",),
    ),
    Row("17", "a token is never told", when.echoed, {"text": lacks(when.AGENT_TOKEN)}, {"text": has(when.AGENT_TOKEN)}),
    Row(
        "18",
        "facts are told in the order of their inputs",
        when.several_facts,
        {"sorted": True},
        {"sorted": False},
        (f"{DATA}/autofilled_inputs",),
        _same_members,
    ),
    Row("18", "equal words: the first in byte order", when.longest_tie, {"ok": True}, {"ok": True}, (DATA,)),
    Row("18", "sorting is stable at any length", when.long_requirements, {"ok": True}, {"ok": True}),
    Row(
        "19",
        "the end of the input ends a wait",
        when.ends_in_a_wait,
        {"answers": 0, "exit": 0},
        {"answers": 1},
        (ANSWER,),
    ),
    Row("20", "the project's cookbooks are the last resort", when.no_cookbooks, {"started": True}, {"started": False}),
    Row("20", "... and the server serves", when.served_without_cookbooks, {"ok": True}, {"down": True}),
    Row(
        "contract 20.4",
        "the inputs of an HTTP route found by search are facts",
        when.search_route,
        {"modes": has("AUTO_RETRY_WITH_FACTS")},
        {"modes": lacks("AUTO_RETRY_WITH_FACTS")},
        tuple(f"{DATA}/{name}" for name in ("missing_input_guidance", "progress_hint", "needs_clarification")),
    ),
)
RULINGS: tuple[str, ...] = tuple(dict.fromkeys(row.ruling for row in ROWS))
"""Every ruling that a client, the vault or a catalog can see, in order."""
