"""Which pending approvals are asked for, in which order do they come, and which one belongs to a job?

Source: contract vaultclaw 14 ("Pending id", approvals_pending_list, approvals_pending_get); VC-13.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lasttick.model.vaultclaw import outcome
from lasttick.model.vaultclaw.arguments import as_object, string
from lasttick.model.vaultclaw.envelope import ToolFailure

STATES = ("WAITING", "READY", "RUNNING", "SUCCEEDED", "DENIED", "FAILED", "EXPIRED")
LOOK_UP_LIMIT = 200
LIST_LIMIT = 50
FILTERS = ("connector_id", "verb", "agent_id", "challenge_id")


def read_states(value: Any) -> tuple[str, ...]:
    """The `states` argument: CSV text or a list of texts, upper-cased, distinct, in the order given; absent means all.

    Raises ToolFailure: another type, a state that does not exist, or none left.
    """
    if value is None:
        return STATES
    texts = value.split(",") if isinstance(value, str) else value
    readable = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    states = tuple(dict.fromkeys(state for text in texts if (state := outcome.state_of(text)))) if readable else ()
    unknown = [state for state in states if state not in STATES]
    if unknown or not states:
        raise ToolFailure(
            "MCP_VALIDATION_ERROR",
            f"states cannot be read ({', '.join(unknown)[:200] or 'none is given'}); expected a comma-separated "
            f"text or a list of texts out of {', '.join(STATES)}; leave states out to ask for all",
        )
    return states


def query(states: Iterable[str], limit: int, filters: Mapping[str, str]) -> dict[str, str]:
    """The query of the call; blank filters are not sent."""
    return {"states": ",".join(states), "limit": str(limit), **{k: v for k, v in filters.items() if v}}


def look_up_query(challenge_id: str) -> dict[str, str]:
    """The query that finds what belongs to one challenge, whatever became of it."""
    return query(STATES, LOOK_UP_LIMIT, {"challenge_id": challenge_id})


def ordered(body: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The items of an answer that are objects: newest first, then by pending_id."""
    items = (body or {}).get("items")
    objects = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return sorted(objects, key=lambda item: (-_sequence(item), string(item.get("pending_id"))))


def of_job(body: Mapping[str, Any] | None, job_id: str) -> str:
    """The pending_id of the newest item of this job; "" when there is none. Case does not count."""
    ids = (string(item.get("pending_id")) for item in ordered(body) if same(item.get("job_id"), job_id))
    return next(filter(None, ids), "")


def same(given: Any, wanted: str) -> bool:
    return string(given).lower() == wanted.lower()


def item_json(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item unchanged, with its outcome and, where there is one, the link for a remote approver."""
    pending = as_object(item.get("pending_approval")) or {}
    return {**item, "decision_outcome": outcome.item_outcome(item), **attestation(item, pending)}


def attestation(*holders: Mapping[str, Any]) -> dict[str, str]:
    """The first remote attestation URL of these, and the same as a Markdown link; empty when there is none."""
    url = next(filter(None, (string(holder.get("remote_attestation_url")) for holder in holders)), "")
    return {"remote_attestation_url": url, "remote_attestation_link_markdown": f"[{url}]({url})"} if url else {}


def _sequence(item: Mapping[str, Any]) -> float:
    value = item.get("created_seq")
    return 0 if isinstance(value, bool) or not isinstance(value, int | float) else value
