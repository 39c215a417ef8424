"""How do jobs and plan runs live? They begin, wait for a person, run exactly once, and end.

Nothing here waits: what is due by itself (an expiry, a scripted person, the end of a run) happens at its own instant
when the vault is next looked at, in the order of those instants. So the same calls at the same times give the same
history, and a daemon that was away expires what expired meanwhile. Source: contract vaultclaw 8 and 14.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick_fakes.vaultd import approval as lifecycle
from lasttick_fakes.vaultd.approval import Approval
from lasttick_fakes.vaultd.connectors import policy_hash
from lasttick_fakes.vaultd.plans import next_step, resolve, start_of, steps_by_id
from lasttick_fakes.vaultd.principals import Principal
from lasttick_fakes.vaultd.profiles import HTTP_VERB, attachments, check_use
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.state import TERMINAL, VaultState, Work
from lasttick_fakes.vaultd.validate import report, validate_inner
from lasttick_fakes.vaultd.verbs import perform

NS = 1_000_000_000
ASK_CODES = {
    ("JOB", "ask"): "CONNECTOR_APPROVAL_DECISION_REQUIRED",
    ("JOB", "grant"): "CONNECTOR_APPROVAL_GRANT_REQUIRED",
    ("PLAN_RUN", "ask"): "PLAN_APPROVAL_REQUIRED",
    ("PLAN_RUN", "grant"): "CONNECTOR_APPROVAL_GRANT_REQUIRED",
}
RULE_DENIED = "CONNECTOR_APPROVAL_RULE_DENIED"
DRIFT = "PLAN_POLICY_DRIFT"


@dataclass(frozen=True, slots=True)
class Now:
    """One instant on both clocks: monotonic nanoseconds, and Unix milliseconds for people's eyes."""

    ns: int
    unix_ms: int

    def at(self, t_ns: int) -> Now:
        """An instant before or after this one."""
        return Now(t_ns, self.unix_ms + (t_ns - self.ns) // 1_000_000)


class Workroom:
    """All jobs and runs of one state. `tell(kind, data)` hears `vault.approval`, `vault.effect` and `vault.work`."""

    def __init__(self, state: VaultState, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self.state = state
        self._tell = tell

    # -- what calls do

    def execute(self, who: Principal, connector_id: str, verb: str, inner: dict[str, Any], now: Now) -> dict[str, Any]:
        """Carry out one verb at once. Raises VaultError, also when a person would have to decide."""
        effect = self.state.policy.effect(verb)
        self._refuse_by_rule(effect, verb)
        if effect != "allow":
            raise VaultError(
                403,
                ASK_CODES["JOB", effect],
                f"{verb} needs a person's decision; expected it to be run as a job; call execute-job.",
                {"connector_id": connector_id, "verb": verb},
            )
        self._check_secrets(who.tenant, verb, inner)
        return self._act("execute", who.tenant, who.agent_id, connector_id, verb, inner, now)

    def begin_job(self, who: Principal, connector_id: str, verb: str, inner: dict[str, Any], now: Now) -> Work:
        """A job for one verb: done at once, or PENDING until a person decides. Raises VaultError."""
        effect = self.state.policy.effect(verb)
        self._refuse_by_rule(effect, verb)
        self._check_secrets(who.tenant, verb, inner)
        work = Work(self.state.next_id("job"), "JOB", who.tenant, who.agent_id, now.ns)
        work.connector_id, work.verb = connector_id, verb
        self.state.works[work.work_id] = work
        if effect == "allow":
            self._start(work, connector_id, verb, inner, "", now)
        else:
            self._ask(work, effect, connector_id, verb, inner, now)
        return work

    def begin_run(self, who: Principal, plan: dict[str, Any], plan_input: Any, now: Now) -> Work:
        """A run of a plan that was checked: up to its end or to the first step a person decides. Raises VaultError."""
        work = Work(self.state.next_id("run"), "PLAN_RUN", who.tenant, who.agent_id, now.ns)
        work.plan, work.plan_input, work.step_id = plan, plan_input, start_of(plan)
        self.state.works[work.work_id] = work
        try:
            self._advance(work, now)
        except VaultError as error:
            self._fail(work, error, now)
            error.details.setdefault("run_id", work.work_id)
            raise
        return work

    def decide(self, who: Principal, challenge_id: str, pending_id: str, decision: str, now: Now) -> Approval:
        """A person's word about one request. Raises VaultError (403, 404, 409)."""
        self.settle(now)
        asked = lifecycle.may_decide(self.state.approvals.get(challenge_id), who, challenge_id, pending_id)
        self._decided(lifecycle.decide(asked, decision, who.approver, now.ns), now)
        return self.state.approvals[challenge_id]

    def cancel(self, work: Work, now: Now) -> None:
        """The work ends CANCELLED, unless it has ended."""
        if work.status in TERMINAL:
            return
        asked = self.state.approvals.get(work.challenge_id)
        if asked is not None and asked.state not in TERMINAL:
            self._put(lifecycle.end(asked, "FAILED", "WORK_CANCELLED"), now)
        self._set(work, "CANCELLED", "", now)

    # -- what happens by itself

    def settle(self, now: Now) -> None:
        """Let everything happen that is due by now, each at its own instant."""
        due = self.state.due
        while due and due[0][0] <= now.ns:
            t_ns, _, what, ident = heapq.heappop(due)
            if what == "approval":
                self._approval_due(self.state.approvals[ident], t_ns, now.at(t_ns))
            elif self.state.works[ident].until_ns == t_ns and self.state.works[ident].status == "RUNNING":
                self._finish(self.state.works[ident], now.at(t_ns))

    def _approval_due(self, asked: Approval, t_ns: int, now: Now) -> None:
        if asked.due_ns != t_ns:
            return  # decided or cancelled before
        if t_ns < asked.expires_ns:
            self._decided(lifecycle.decide(asked, asked.person_decision, asked.person_name, t_ns), now)
            return
        self._put(lifecycle.expire(asked), now)
        self._set(self.state.works[asked.work_id], self.state.policy.on_expiry, lifecycle.LATE, now)

    # -- steps of a life

    def _ask(self, work: Work, effect: str, connector_id: str, verb: str, inner: dict[str, Any], now: Now) -> None:
        state = self.state
        pending_id, challenge_id = state.next_id("apj"), state.next_id("ach")
        ttl_ns = round(state.policy.approval_ttl_s * NS)
        person = state.person_for(work.tenant, verb)
        scripted = person is not None and person.decision in lifecycle.DECISIONS
        asked = Approval(
            challenge_id,
            pending_id,
            work.work_id,
            work.step_id,
            work.tenant,
            work.agent_id,
            connector_id,
            verb,
            inner,
            policy_hash(state.connectors[connector_id], state.policy),
            created_seq=state.counts["apj"],
            asked_ns=now.ns,
            expires_ns=now.ns + ttl_ns,
            expires_unix_ms=now.unix_ms + ttl_ns // 1_000_000,
            person_ns=now.ns + round(person.after_s * NS) if person is not None and scripted else None,
            person_decision=person.decision if person is not None and scripted else "",
            person_name=person.name if person is not None and scripted else "",
        )
        work.challenge_id = challenge_id
        self._put(asked, now)
        self._set(work, "PENDING", ASK_CODES[work.kind, effect], now)
        due_ns = asked.due_ns
        assert due_ns is not None
        state.remind(due_ns, "approval", challenge_id)

    def _decided(self, asked: Approval, now: Now) -> None:
        self._put(asked, now)
        work = self.state.works[asked.work_id]
        if asked.state == "DENIED":
            self._set(work, "DENIED", asked.last_error_code, now)
        elif policy_hash(self.state.connectors[asked.connector_id], self.state.policy) != asked.policy_hash:
            self._put(lifecycle.end(asked, "DENIED", DRIFT), now)
            self._set(work, "DENIED", DRIFT, now)
        else:
            self._start(work, asked.connector_id, asked.verb, asked.arguments, asked.decided_by, now)

    def _start(self, work: Work, connector_id: str, verb: str, inner: dict[str, Any], by: str, now: Now) -> None:
        """Run it: the one place where a job, or an approved step, has its effect."""
        self._set(work, "RUNNING", "", now)
        kind = "job" if work.kind == "JOB" else "step"
        try:
            result = self._act(kind, work.tenant, work.agent_id, connector_id, verb, inner, now, by, work)
            work.outcome = {"result": result}
        except VaultError as error:
            work.outcome = {"error": {"code": error.code, "message": error.message}}
        run_ns = round(self.state.policy.run_s * NS)
        work.until_ns = now.ns + run_ns
        if run_ns:
            self.state.remind(work.until_ns, "finish", work.work_id)
        else:
            self._finish(work, now)

    def _finish(self, work: Work, now: Now) -> None:
        asked = self.state.approvals.get(work.challenge_id)
        error = work.outcome.get("error")
        if asked is not None and asked.state == "RUNNING":
            ended = lifecycle.end(asked, "FAILED", error["code"]) if error else lifecycle.end(asked, "SUCCEEDED")
            self._put(ended, now)
        if error:
            work.message = error["message"]
            self._set(work, "FAILED", error["code"], now)
        elif work.kind == "JOB":
            self._set(work, "SUCCEEDED", "", now)
        else:
            try:
                self._step_done(work, work.outcome["result"])
                self._advance(work, now)
            except VaultError as failed:
                self._fail(work, failed, now)

    def _advance(self, work: Work, now: Now) -> None:
        """Go on with the plan from `step_id` ("": its end) until a person has to decide. Raises VaultError."""
        while work.step_id:
            try:
                if not self._step(work, now):
                    return
            except VaultError as error:
                error.details.setdefault("step_id", work.step_id)
                raise
        self._set(work, "SUCCEEDED", "", now)

    def _step(self, work: Work, now: Now) -> bool:
        """One step. False: it waits for a person."""
        step = steps_by_id(work.plan)[work.step_id]
        if work.step_id in work.visited:
            raise _step_failed(work.step_id, "PLAN_INVALID", "comes twice, in a circle")
        work.visited.append(work.step_id)
        inner = resolve(step, work.plan_input, work.outputs)
        problems = validate_inner(step["verb"], inner)
        if problems:
            raise _step_failed(work.step_id, "PLAN_STEP_INVALID", "sends what is not valid", **report(problems))
        connector_id, verb = step["connector_id"], step["verb"]
        effect = self.state.policy.effect(verb)
        self._refuse_by_rule(effect, verb)
        self._check_secrets(work.tenant, verb, inner)
        if effect != "allow":
            self._ask(work, effect, connector_id, verb, inner, now)
            return False
        result = self._act("step", work.tenant, work.agent_id, connector_id, verb, inner, now, "", work)
        self._step_done(work, result)
        return True

    def _step_done(self, work: Work, result: dict[str, Any]) -> None:
        step = steps_by_id(work.plan)[work.step_id]
        missing = result.get("missing_slots")
        if isinstance(missing, list) and missing and not step.get("success_branches"):
            # A read with branches has its own way on; one without needs everything it asked for.
            what = f"has no value for {', '.join(map(str, missing))}"
            raise _step_failed(work.step_id, "IDENTITY_SLOTS_MISSING", what, missing_slots=list(missing))
        work.outputs[work.step_id] = result
        work.step_id = next_step(step, work.outputs) or ""

    def _act(
        self,
        kind: str,
        tenant: str,
        agent_id: str,
        connector_id: str,
        verb: str,
        inner: dict[str, Any],
        now: Now,
        by: str = "",
        work: Work | None = None,
    ) -> dict[str, Any]:
        entry = {
            "seq": len(self.state.effects) + 1,
            "t_ns": now.ns,
            "kind": kind,
            "tenant": tenant,
            "agent": agent_id,
            "connector_id": connector_id,
            "verb": verb,
            "arguments": inner,
            "decided_by": by,
            "work_id": "" if work is None else work.work_id,
            "step_id": "" if work is None else work.step_id,
        }
        result = perform(self.state, tenant, verb, inner)
        self.state.effects.append(entry)
        self._tell("vault.effect", entry)
        return result

    # -- checks and changes

    def _refuse_by_rule(self, effect: str, verb: str) -> None:
        if effect == "deny":
            message = f"A rule denies {verb}; expected one that the policy allows; ask its owner."
            raise VaultError(403, RULE_DENIED, message, {"verb": verb})

    def _check_secrets(self, tenant: str, verb: str, inner: Mapping[str, Any]) -> None:
        if verb != HTTP_VERB:
            return
        check_use(inner, self.state.profiles.get(tenant, {}))
        if not self.state.policy.bindings_required:
            return
        bound = {
            one["slot"]
            for one in self.state.bindings
            if (one["tenant"], one["verb"], one["revoked"]) == (tenant, verb, False)
        }
        for one in attachments(inner):
            if one["slot"] not in bound:
                raise VaultError(
                    422,
                    "SECRET_SLOT_UNRESOLVED",
                    f"The slot {one['slot']!r} has no secret; expected a binding; bind the slot.",
                    {"slot": one["slot"]},
                )

    def _fail(self, work: Work, error: VaultError, now: Now) -> None:
        work.message = error.message
        self._set(work, "DENIED" if error.code == RULE_DENIED else "FAILED", error.code, now)

    def _set(self, work: Work, status: str, code: str, now: Now) -> None:
        work.status, work.code = status, code
        about = {"t_ns": now.ns, "work_id": work.work_id, "kind": work.kind, "status": status, "code": code}
        self._tell("vault.work", about)

    def _put(self, asked: Approval, now: Now) -> None:
        self.state.approvals[asked.challenge_id] = asked
        about = {"t_ns": now.ns, "challenge_id": asked.challenge_id, "work_id": asked.work_id, "state": asked.state}
        self._tell("vault.approval", {**about, "decision": asked.decision, "decided_by": asked.decided_by})


def _step_failed(step_id: str, code: str, what: str, **details: Any) -> VaultError:
    message = f"The step {step_id} {what}; expected a plan that can go on; see the details and correct it."
    return VaultError(422, code, message, {"step_id": step_id, **details})
