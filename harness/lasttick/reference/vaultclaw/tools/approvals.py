"""List what waits for a person, read one of these, and wait for the decision. Nothing here decides anything.

A wait keeps the vault session it began with. It ends with a terminal state, with a failure that waiting cannot cure, or
at its deadline. Source: contract vaultclaw 14; rulings VC-1 to VC-4; VC-12 to VC-14, VC-20.
"""

from __future__ import annotations

from lasttick.model.vaultclaw import pending, wait
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.model.vaultclaw.wait import Handle, Observation
from lasttick.ports import Clock
from lasttick.reference.vaultclaw.required import required_object, required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of
from lasttick.reference.vaultclaw.tools.jobs import lacks
from lasttick.reference.vaultclaw.vault import Vault


async def approvals_pending_list(call: ToolCall) -> Success:
    states = pending.read_states(call.arguments.raw("states"))
    limit = call.arguments.integer("limit")
    filters = {name: call.arguments.string(name) for name in pending.FILTERS}
    query = pending.query(states, limit if limit > 0 else pending.LIST_LIMIT, filters)
    answer = await call.vault.pending_approvals(query)
    return Success({"items": [pending.item_json(item) for item in pending.ordered(answer.body)]}, answer.meta)


async def approvals_pending_get(call: ToolCall) -> Success:
    challenge_id = required_text(call.arguments, "challenge_id")
    pending_id = required_text(call.arguments, "pending_id")
    answer = await call.vault.pending_approvals(pending.look_up_query(challenge_id))
    for item in pending.ordered(answer.body):
        if pending.same(item.get("pending_id"), pending_id):
            return Success({"item": pending.item_json(item)}, answer.meta)
    raise ToolFailure(
        "MCP_APPROVAL_PENDING_NOT_FOUND",
        f"challenge {challenge_id!r} has no pending approval {pending_id!r}; expected one that the vault lists "
        "for this challenge; list them with vaultclaw_approvals_pending_list",
        {"challenge_id": challenge_id, "pending_id": pending_id},
    )


async def approval_wait(call: ToolCall) -> Success:
    given = required_object(call.arguments, "handle")
    vault = call.vault
    handle = wait.read_handle(given)
    bounds = wait.limits(call.arguments.integer("timeout_ms"), call.arguments.integer("poll_interval_ms"))
    last = await wait_for_end(vault, call.parts.clock, handle, bounds)
    return Success(wait.success_json(handle, last))


async def wait_for_end(vault: Vault, clock: Clock, handle: Handle, bounds: wait.Limits) -> Observation:
    """Poll until a terminal state. Raises ToolFailure: MCP_WAIT_TIMEOUT, or what no further poll can cure."""
    deadline_ns = clock.now_ns() + bounds.timeout_ms * wait.NS_PER_MS
    latest: Observation | None = None
    while True:
        asked_ns = clock.now_ns()
        error: ToolFailure | None = None
        try:
            latest = await poll(vault, handle, wait.poll_limit_s(asked_ns, deadline_ns))
        except ToolFailure as failure:
            if not wait.goes_on(failure):
                raise
            error = failure
        else:
            if latest.ends:
                return latest
        due_ns = wait.next_poll_ns(asked_ns, clock.now_ns(), bounds.poll_interval_ms * wait.NS_PER_MS, deadline_ns)
        if due_ns is None:
            raise wait.timed_out(handle, bounds, latest, error)
        await sleep_until(clock, due_ns)


async def poll(vault: Vault, handle: Handle, limit_s: float) -> Observation:
    """What the job or run is now. Raises ToolFailure, also when a good answer has no such object."""
    job = handle.kind == wait.JOB
    answer = await (vault.job(handle.job_id, limit_s) if job else vault.plan_run(handle.run_id, limit_s))
    seen = wait.observe(handle.kind, answer.body)
    if seen is None:
        raise lacks(answer, "job" if job else "run")
    return seen


async def sleep_until(clock: Clock, due_ns: int) -> None:
    """Not a nanosecond less: a poll that comes early would be one poll more."""
    while (left_ns := due_ns - clock.now_ns()) > 0:
        await clock.sleep(left_ns / 1e9)


TOOLS = (
    Tool(
        "vaultclaw_approvals_pending_list",
        "List what waits for a person's decision, and what became of it. Read-only.",
        properties_of(states="*", limit="i", connector_id="s", verb="s", agent_id="s", challenge_id="s"),
        approvals_pending_list,
    ),
    Tool(
        "vaultclaw_approvals_pending_get",
        "Read one pending approval. Read-only.",
        properties_of(challenge_id="s", pending_id="s"),
        approvals_pending_get,
        ("challenge_id", "pending_id"),
    ),
    Tool(
        "vaultclaw_approval_wait",
        "Wait until the job or plan run of a handle has ended. Pass on the handle of details.approval.next_action "
        "unchanged. When the time is up, call it again with the same handle.",
        properties_of(handle="o", timeout_ms="i", poll_interval_ms="i"),
        approval_wait,
        ("handle",),
        waits=True,
    ),
)
