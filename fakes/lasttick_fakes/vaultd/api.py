"""What does the vault's own HTTP API answer? Its seventeen calls, and the one by which a person decides.

| call | scope | answer |
|---|---|---|
| GET /v0/connectors | connectors.list.v1 | `{items: [connector]}` |
| GET /v0/connectors/{id} | connectors.get.v1 | the connector with its `policy_hash` |
| POST /v0/connectors/validate | connectors.execute.v1, or execute_job | `{valid, errors}` |
| POST /v0/connectors/execute | connectors.execute.v1 | `{result}` |
| POST /v0/connectors/execute-job | connectors.execute_job.v1 | `{job}` |
| POST /v0/connectors/plans/validate | connectors.plans.execute.v1 | `{valid, errors}` |
| POST /v0/connectors/plans/execute | connectors.plans.execute.v1 | `{run_id, run, job, pending_approval?}` |
| GET /v0/connectors/plans/runs/{id} | connectors.plans.read.v1 | the same |
| GET /v0/jobs/{id} | connectors.execute_job.v1, or plans.read | `{job}` |
| GET /v0/connectors/approvals/pending | connectors.approvals.pending.read.v1, or an approver | `{items}` |
| POST /v0/connectors/approvals/decide | an approver | `{item}` |
| GET .../secrets/slots/bindings, POST .../bind | any agent | `{items}`, `{binding}` |
| GET .../unbounded/profiles/list, /get | any agent | `{items}`, `{profile}` |
| POST .../unbounded/profiles/upsert | connectors.unbounded.profiles.write | `{profile, created}` |
| POST /v0/docs/types/suggest | docs.types.suggest | `{items: [{type_id, title, score}]}` |
| GET /v0/docs/types/latest | docs.types.latest | `{document_id, item}` |

Everything belongs to the token's tenant: another's is not found. A person decides with `{challenge_id, pending_id,
decision: approve or deny}`. Source: contract vaultclaw 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick_fakes.http_json import shown
from lasttick_fakes.vaultd import approval as lifecycle
from lasttick_fakes.vaultd import principals as scopes
from lasttick_fakes.vaultd.call import Call, invalid, not_valid
from lasttick_fakes.vaultd.connectors import as_json
from lasttick_fakes.vaultd.plans import check_plan
from lasttick_fakes.vaultd.principals import Principal, need_scope
from lasttick_fakes.vaultd.profiles import check_profile, not_found
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.state import Work
from lasttick_fakes.vaultd.validate import report, validate
from lasttick_fakes.vaultd.views import job_view, run_answer
from lasttick_fakes.vaultd.work import Workroom

JOB_PATH, RUN_PATH, CONNECTOR_PATH = "/v0/jobs/", "/v0/connectors/plans/runs/", "/v0/connectors/"


Handler = Callable[["Api", Call], dict[str, Any]]


class Api:
    """The calls over one workroom."""

    def __init__(self, room: Workroom) -> None:
        self.room = room
        self.state = room.state

    def find(self, method: str, path: str) -> tuple[Handler, str]:
        """Who answers, and the id in the path. Raises VaultError (404, 405)."""
        for one, table in (("GET", _GET), ("POST", _POST)):
            handler = table.get(path)
            if handler is None:
                continue
            if method == one:
                return handler, ""
            raise VaultError(405, "METHOD_NOT_ALLOWED", f"{method} {shown(path)}; expected {one}; use it.")
        for prefix, handler in _BY_ID.items():
            ident = path.removeprefix(prefix)
            if path.startswith(prefix) and ident and "/" not in ident and method == "GET":
                return handler, ident
        raise VaultError(404, "NOT_FOUND", f"Nothing is at {method} {shown(path)}; expected a call of /v0; correct it.")

    # -- connectors

    def connectors(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.LIST)
        return {"items": [as_json(one, self.state.policy) for _, one in sorted(self.state.connectors.items())]}

    def connector(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.GET)
        connector = self.state.connectors.get(call.ident)
        if connector is None:
            raise VaultError(404, "CONNECTOR_NOT_FOUND", f"No connector is {shown(call.ident)}; expected one listed.")
        return as_json(connector, self.state.policy)

    def validate(self, call: Call) -> dict[str, Any]:
        _need_one_of(call.who, scopes.EXECUTE, scopes.EXECUTE_JOB)
        return report(validate(call.body, self.state.connectors, self.state.policy))

    def execute(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.EXECUTE)
        return {"result": self.room.execute(call.who, *self._valid(call), call.now)}

    def execute_job(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.EXECUTE_JOB)
        return {"job": self._job_view(self.room.begin_job(call.who, *self._valid(call), call.now), call)}

    def job(self, call: Call) -> dict[str, Any]:
        _need_one_of(call.who, scopes.EXECUTE_JOB, scopes.PLANS_READ)
        return {"job": self._job_view(self._work(call, "JOB_NOT_FOUND"), call)}

    # -- plans

    def plan_validate(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.PLANS_EXECUTE)
        return report(check_plan(call.members().get("plan"), self.state.connectors))

    def plan_execute(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.PLANS_EXECUTE)
        body = call.members()
        problems = check_plan(body.get("plan"), self.state.connectors)
        if problems:
            raise not_valid(problems[0].code, problems)
        return self._run_answer(self.room.begin_run(call.who, body["plan"], body.get("plan_input"), call.now), call)

    def plan_run(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.PLANS_READ)
        work = self._work(call, "PLAN_RUN_NOT_FOUND")
        if work.kind != "PLAN_RUN":
            raise _no_work("PLAN_RUN_NOT_FOUND", call.ident)
        return self._run_answer(work, call)

    # -- approvals

    def pending(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.PENDING_READ)
        states = [one for one in call.query.get("states", "").split(",") if one] or list(lifecycle.STATES)
        if odd := [one for one in states if one not in lifecycle.STATES]:
            raise invalid("states", odd[0], " or ".join(lifecycle.STATES))
        limit = call.query.get("limit", "50")
        if not (limit.isascii() and limit.isdigit() and 0 < len(limit) <= 18 and int(limit)):
            raise invalid("limit", limit, "a whole number from 1")
        filters = [name for name in ("connector_id", "verb", "agent_id", "challenge_id") if call.query.get(name)]
        if "challenge_id" in filters:  # asked for by every hand-off: not a walk over all
            one = self.state.approvals.get(call.query["challenge_id"])
            asked = [] if one is None else [one]
        else:
            asked = list(self.state.approvals.values())
        items = [
            lifecycle.item(one)
            for one in reversed(asked)
            if one.tenant == call.who.tenant
            and one.state in states
            and all(getattr(one, name) == call.query[name] for name in filters)
        ]
        return {"items": items[: int(limit)]}

    def decide(self, call: Call) -> dict[str, Any]:
        decision = call.text("decision")
        if decision not in lifecycle.DECISIONS:
            raise invalid("decision", decision, " or ".join(lifecycle.DECISIONS))
        challenge_id, pending_id = call.text("challenge_id"), call.text("pending_id")
        return {"item": lifecycle.item(self.room.decide(call.who, challenge_id, pending_id, decision, call.now))}

    # -- secrets and profiles

    def bindings(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, None)
        revoked = call.query.get("include_revoked") == "true"
        wanted = (call.who.tenant, call.text("connector_id"), call.text("verb"))
        mine = [one for one in self.state.bindings if (one["tenant"], one["connector_id"], one["verb"]) == wanted]
        return {"items": [_shown(one) for one in mine if revoked or not one["revoked"]]}

    def bind(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, None)
        names = ("connector_id", "verb", "slot", "secret_id")
        binding: dict[str, Any] = {name: call.text(name) for name in names}
        connector = self.state.connectors.get(binding["connector_id"])
        if connector is None or not connector.has(binding["verb"]):
            what = f"{binding['connector_id']} has no verb {binding['verb']}"
            raise VaultError(404, "SECRET_SLOT_NOT_DEFINED", f"{what[:120]}; expected one that is listed; correct it.")
        binding |= {"tenant": call.who.tenant, "revoked": False}
        for one in self.state.bindings:  # a slot holds one secret: the last
            if all(one[name] == binding[name] for name in ("tenant", *names[:3])):
                one["revoked"] = True
        self.state.bindings.append(binding)
        return {"binding": _shown(binding)}

    def profiles(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, None)
        revoked = call.query.get("include_revoked") == "true"
        mine = self.state.profiles.get(call.who.tenant, {})
        items = [
            {name: one.get(name) for name in ("profile_id", "connector_id", "verb")} | {"revoked": _revoked(one)}
            for _, one in sorted(mine.items())
            if all(one[name] == call.query[name] for name in ("connector_id", "verb") if call.query.get(name))
            and (revoked or not _revoked(one))
        ]
        return {"items": items}

    def profile(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, None)
        profile_id = call.text("profile_id")
        profile = self.state.profiles.get(call.who.tenant, {}).get(profile_id)
        if profile is None:
            raise not_found(profile_id)
        return {"profile": profile}

    def upsert_profile(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.PROFILES_WRITE)
        profile = check_profile(call.members().get("profile"))
        mine = self.state.profiles.setdefault(call.who.tenant, {})
        created = profile["profile_id"] not in mine
        mine[profile["profile_id"]] = profile
        return {"profile": profile, "created": created}

    # -- documents

    def suggest(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.TYPES_SUGGEST)
        query, top_k = call.text("query").casefold(), call.members().get("top_k", 5)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise invalid("top_k", top_k, "a whole number from 1")
        scored = [(sum(word in query for word in one["words"]), one) for one in self.state.types]
        found = sorted((-score, one["type_id"], one["title"]) for score, one in scored if score)
        items = [{"type_id": type_id, "title": title, "score": -score} for score, type_id, title in found]
        return {"items": items[:top_k]}

    def latest(self, call: Call) -> dict[str, Any]:
        need_scope(call.who, scopes.TYPES_LATEST)
        type_id, subject_id = call.text("type_id"), call.query.get("subject_id") or "self"
        wanted = (call.who.tenant, type_id, subject_id)
        found = [one for one in self.state.documents if (one["tenant"], one["type_id"], one["subject_id"]) == wanted]
        if not found:
            raise VaultError(
                404,
                "DOCUMENT_SLOT_UNRESOLVED",
                f"No document of type {shown(type_id)} for {shown(subject_id)}; expected one; upload it.",
                {"type_id": type_id, "subject_id": subject_id},
            )
        item = {name: found[-1][name] for name in ("document_id", "type_id", "subject_id")}
        return {"document_id": item["document_id"], "item": item}

    # -- what they share

    def _valid(self, call: Call) -> tuple[str, str, dict[str, Any]]:
        """Connector, verb and inner request of a body that validates. Raises VaultError (400)."""
        problems = validate(call.body, self.state.connectors, self.state.policy)
        if problems:
            raise not_valid("INVALID_ARGUMENT", problems)
        return call.body["connector_id"], call.body["verb"], call.body.get("request", {})

    def _work(self, call: Call, code: str) -> Work:
        work = self.state.works.get(call.ident)
        if work is None or work.tenant != call.who.tenant:
            raise _no_work(code, call.ident)
        return work

    def _job_view(self, work: Work, call: Call) -> dict[str, Any]:
        return job_view(work, self.state.approvals.get(work.challenge_id), call.now.ns)

    def _run_answer(self, work: Work, call: Call) -> dict[str, Any]:
        return run_answer(work, self.state.approvals.get(work.challenge_id), call.now.ns)


_GET: dict[str, Handler] = {
    "/v0/connectors": Api.connectors,
    "/v0/connectors/approvals/pending": Api.pending,
    "/v0/connectors/secrets/slots/bindings": Api.bindings,
    "/v0/connectors/unbounded/profiles/list": Api.profiles,
    "/v0/connectors/unbounded/profiles/get": Api.profile,
    "/v0/docs/types/latest": Api.latest,
}
_POST: dict[str, Handler] = {
    "/v0/connectors/validate": Api.validate,
    "/v0/connectors/execute": Api.execute,
    "/v0/connectors/execute-job": Api.execute_job,
    "/v0/connectors/plans/validate": Api.plan_validate,
    "/v0/connectors/plans/execute": Api.plan_execute,
    "/v0/connectors/approvals/decide": Api.decide,
    "/v0/connectors/secrets/slots/bind": Api.bind,
    "/v0/connectors/unbounded/profiles/upsert": Api.upsert_profile,
    "/v0/docs/types/suggest": Api.suggest,
}
_BY_ID: dict[str, Handler] = {RUN_PATH: Api.plan_run, JOB_PATH: Api.job, CONNECTOR_PATH: Api.connector}


def _need_one_of(who: Principal, first: str, second: str) -> None:
    need_scope(who, second if second in who.scopes else first)


def _shown(binding: Mapping[str, Any]) -> dict[str, Any]:
    return {name: binding[name] for name in ("connector_id", "verb", "slot", "secret_id", "revoked")}


def _revoked(profile: Mapping[str, Any]) -> bool:
    return profile.get("revoked") is True


def _no_work(code: str, ident: str) -> VaultError:
    return VaultError(404, code, f"Nothing is {shown(ident)}; expected the id of one of this tenant; correct it.")
