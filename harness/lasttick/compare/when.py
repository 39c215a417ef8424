"""Of which steps does each ruling speak? Predicates on a call and on what the fakes were told before it. Pure.

No predicate looks at an answer: what a step shows is the business of the row's two patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from lasttick.compare.corpus_rulings import (
    AGENT_TOKEN,
    EXECUTE_JOB,
    GRANT,
    PENDING,
    PLAN_EXECUTE,
    PROFILE_GET,
    VALIDATE,
)
from lasttick.compare.script import TOKEN, Call, CallThenEnd, Remote, Restart, Scene, Written
from lasttick.model.vaultclaw import handoff, outcome, validation, wait
from lasttick.model.vaultclaw.arguments import as_object, string
from lasttick.model.vaultclaw.json_text import trim
from lasttick.model.vaultclaw.routing.extract import inputs_of
from lasttick.model.vaultclaw.routing.search import FIRST_WORDS, WORD_LETTERS_MIN
from lasttick.model.vaultclaw.routing.text import normal, tokens

__all__ = ["AGENT_TOKEN"]
EXECUTES = ("connector_execute", "connector_execute_job")
PASSPORT = "passport_email_workflow"
GOOGLE = ("google.workspace", "1.3.0")
SHORT_BELOW, SHOWN_FROM = 12, 6
"""Tokens between the two are masked whole by ours, and in their middle by the public program."""
_WEATHER = re.compile(
    r"\bweather\b.*\b(?:in|for) .*\b(?:today|tomorrow|tonight|this weekend|this week|next week)\b", re.IGNORECASE
)
_LOOK_AT = {"job_get": "job_id", "plan_run_get": "run_id"}
_IDS = {"connector_get": "connector_id", **_LOOK_AT}


# -- waits


def ends_after_deadline(scene: Scene) -> bool:
    """Told work ends after the deadline, and before the poll that comes a whole interval later."""
    if scene.call.tool != "approval_wait":
        return False
    bounds = _limits(scene.call)
    last = -(-bounds.timeout_ms // bounds.poll_interval_ms) * bounds.poll_interval_ms
    ends = [state["at_s"] * 1000 for state in _states(scene) if state["status"].upper() in outcome.TERMINAL]
    return any(bounds.timeout_ms < end_ms <= last for end_ms in ends)


def a_poll_fails(scene: Scene) -> bool:
    return scene.call.tool == "approval_wait" and any(one.get("count", one.get("times")) for one in _bad_polls(scene))


def all_polls_fail(scene: Scene) -> bool:
    return scene.call.tool == "approval_wait" and any(
        "count" not in one and "times" not in one for one in _bad_polls(scene)
    )


def looks_at_ended(scene: Scene) -> bool:
    ident = string(scene.call.arguments.get(_LOOK_AT.get(scene.call.tool, "")))
    return bool(ident) and _ended(scene, ident)


def waits_for_ended(scene: Scene) -> bool:
    handle = as_object(scene.call.arguments.get("handle")) or {}
    ident = string(handle.get("job_id")) or string(handle.get("run_id"))
    return scene.call.tool == "approval_wait" and _ended(scene, ident)


def ends_in_a_wait(scene: Scene) -> bool:
    return isinstance(scene.step, CallThenEnd) and scene.call.tool == "approval_wait"


# -- executing calls


def executing_without_state(scene: Scene) -> bool:
    """A success without a job or run in a state that exists, and nothing in it that asks for a person."""
    job, plan = _next(scene, EXECUTE_JOB), _next(scene, PLAN_EXECUTE)
    if scene.call.tool == "connector_execute_job" and job is not None:
        return not handoff.is_known_job(job) and handoff.of_job(job) is None
    if scene.call.tool in ("plan_execute", PASSPORT) and plan is not None:
        return not handoff.is_known_plan(plan) and handoff.of_plan(plan) is None
    return False


def not_valid(scene: Scene) -> bool:
    request = as_object(scene.call.arguments.get("request"))
    if scene.call.tool not in EXECUTES or request is None:
        return False
    told = _next(scene, VALIDATE)
    if told is not None:
        return validation.says_no(told)
    # Only who judges needs the fakes: not everybody who asks which mutants there are.
    from lasttick_fakes.vaultd.connectors import DEFAULT_CONNECTORS, Policy
    from lasttick_fakes.vaultd.validate import validate

    connectors = {one.connector_id: one for one in DEFAULT_CONNECTORS}
    problems = [one for one in validate(request, connectors, Policy()) if one.code != "MODULE_HASH_REQUIRED"]
    return bool(problems) and not _profile_refused(scene.call.tool, request)


def dots(scene: Scene) -> bool:
    return _path_id(scene) in (".", "..")


def needs_escape(scene: Scene) -> bool:
    ident = _path_id(scene)
    return ident not in ("", ".", "..") and quote(ident, safe=" ") != ident


def profile_lost(scene: Scene) -> bool:
    """A profile is made, and what is read back is none, or another."""
    told = _next(scene, PROFILE_GET)
    resolves = scene.call.tool in ("unbounded_profile_resolve", "connector_execute_job", "plan_execute")
    return resolves and told is not None


# -- hand-offs


def look_up_fails(scene: Scene) -> bool:
    """The look-up of a pending id fails otherwise than for a missing scope."""
    job = _next(scene, EXECUTE_JOB)
    if scene.call.tool != "connector_execute_job" or job is None or handoff.of_job(job) is None:
        return False
    refused = any(one["status"] >= 400 and one["status"] not in (401, 403) for one in scene.answers(PENDING))
    return refused or any(one.get("path") == PENDING for one in scene.troubles())


def grant(scene: Scene) -> bool:
    """Only the GRANT code says that somebody is asked, and all ids are there."""
    body = _executed(scene)
    job, run = handoff.job_of(body) or {}, handoff.run_of(body) or {}
    found = _handoff_of(body)
    codes = (outcome.job_code(job), outcome.state_of(run.get("last_error_code")))
    return found is not None and found.can_be_waited_for and GRANT in codes and not _pending_of(body)


def grant_looked_at(scene: Scene) -> bool:
    ident = string(scene.call.arguments.get("job_id"))
    job = handoff.job_of(_next(scene, f"/v0/jobs/{ident}")) if scene.call.tool == "job_get" else None
    return job is not None and outcome.job_code(job) == GRANT and not outcome.is_pending(job.get("pending_approval"))


def odd_pending(scene: Scene) -> bool:
    """`pending_approval` says something, but is no object; nothing else asks for a person."""
    pending = _pending_of(_executed(scene))
    return outcome.is_pending(pending) and not isinstance(pending, dict)


def handoff_without_id(scene: Scene) -> bool:
    found = _handoff_of(_executed(scene))
    return found is not None and not found.can_be_waited_for


# -- passport


def passport_step(*steps: str) -> Callable[[Scene], bool]:
    """The plan fails at one of these steps, with no fields missing."""

    def when(scene: Scene) -> bool:
        details = _failed_step(scene)
        return details.get("step_id") in steps and not (_is_read(details) and "missing_slots" in details)

    return when


def passport_fields_missing(scene: Scene) -> bool:
    details = _failed_step(scene)
    return _is_read(details) and "missing_slots" in details


# -- routes


def weather(scene: Scene) -> bool:
    return _WEATHER.search(_request_text(scene)) is not None


def attachment(scene: Scene) -> bool:
    """A mail with a document, and nothing that gives it a body."""
    text = _request_text(scene)
    written = re.search(r"\b(?:saying|that|body|summar\w*|instructions?|explain|answer|steps|weather)\b", text, re.I)
    compose = re.search(r"\b(?:send|draft|email|mail|reply)\b", text, re.IGNORECASE)
    facts = as_object((as_object(scene.call.arguments.get("context")) or {}).get("facts"))
    fields = re.search(r"(?<!without )(?<!no )passport (?:fields|details)", text, re.IGNORECASE)
    documents = inputs_of(text).get("document_attachments") if text else None
    return bool(documents and compose) and not (written or facts or fields)


def several_facts(scene: Scene) -> bool:
    facts = (as_object(scene.call.arguments.get("context")) or {}).get("facts")
    return scene.call.tool == "route_resolve" and isinstance(facts, Mapping) and len(facts) > 1


def longest_tie(scene: Scene) -> bool:
    """A search for the longest word, of which there are two."""
    text = _request_text(scene)
    words = tokens(normal(text)) if text else frozenset[str]()
    long = sorted((len(word) for word in words if len(word) >= WORD_LETTERS_MIN), reverse=True)
    return len(long) > 1 and long[0] == long[1] and not words.intersection(FIRST_WORDS)


def long_requirements(scene: Scene) -> bool:
    given = scene.call.arguments.get("requirements")
    return scene.call.tool == "unbounded_profile_resolve" and isinstance(given, list) and len(given) > 12


def search_route(scene: Scene) -> bool:
    """A cookbook with a template for the HTTP connector was put in; the request names it."""
    puts = [_bundle(step) for step in scene.before if isinstance(step, Call) and step.tool == "cookbook_upsert"]
    entries = [entry for one in puts for entry in one.get("entries", []) if isinstance(entry, dict)]
    ours = [entry for entry in entries if entry.get("connector_id") == "generic.http" and entry.get("bindings")]
    words = tokens(normal(_request_text(scene)))
    return any(words.intersection(string(entry.get("entry_id")).split("_")) for entry in ours)


# -- catalog


def fetches_elsewhere(scene: Scene) -> bool:
    """What a source lists, or redirects to, is on the other catalog."""
    remote = [str(step.body) for step in scene.before if isinstance(step, Remote) and step.catalog == 1]
    return scene.call.tool == "cookbook_remote_install" and any("{catalog-2}" in body for body in remote)


def huge_body(scene: Scene) -> bool:
    huge = any(isinstance(step, Remote) and step.body.get("kind") in ("huge", "bomb") for step in scene.before)
    return huge and scene.call.tool == "cookbook_remote_install"


def restarts_without_cookbook(scene: Scene) -> bool:
    return isinstance(scene.step, Restart) and _without_cookbook(scene)


def route_without_cookbook(scene: Scene) -> bool:
    return scene.call.tool == "route_resolve" and _restarted(scene)


def entry_without_cookbook(scene: Scene) -> bool:
    return scene.call.tool in ("recipe_get", "template_render") and _restarted(scene)


def stale_index(scene: Scene) -> bool:
    return scene.call.tool == "cookbooks_list" and any(
        isinstance(step, Written) and step.name == "index.json" for step in scene.before
    )


def no_cookbooks(scene: Scene) -> bool:
    return scene.at < 0 and not scene.script.start.cookbooks


def served_without_cookbooks(scene: Scene) -> bool:
    return scene.at >= 0 and not scene.script.start.cookbooks


# -- sessions


def environment_token(scene: Scene) -> bool:
    """A scope other than the default one, of which nobody configured a session."""
    has_token = any(name == "VC_AGENT_TOKEN" for name, _ in scene.script.start.environ)
    return has_token and scene.call.scope not in ("", "default") and scene.script.start.via == "http"


def short_token(scene: Scene) -> bool:
    here = scene.call.tool in ("session_configure", "session_status") and isinstance(scene.step, Call)
    return here and _is_short(_session_token(scene))


def echoed(scene: Scene) -> bool:
    """The vault tells the caller's token, which is not short, and not that of another script."""
    echo = any(one.get("kind") == "echo" for one in scene.troubles())
    return echo and scene.call.tool != "session_configure" and _session_token(scene) == AGENT_TOKEN


# -- what they share


def _limits(call: Call) -> wait.Limits:
    given = [call.arguments.get(name) for name in ("timeout_ms", "poll_interval_ms")]
    return wait.limits(*(int(one) if isinstance(one, int | float) else 0 for one in given))


def _states(scene: Scene) -> list[dict[str, Any]]:
    return [
        state for path in ("/control/jobs", "/control/runs") for told in scene.told(path) for state in told["states"]
    ]


def _ended(scene: Scene, ident: str) -> bool:
    """Is the told work of that counted id CANCELLED or EXPIRED from its beginning?"""
    for path, name in (("/control/jobs", "job"), ("/control/runs", "run")):
        for number, told in enumerate(scene.told(path), 1):
            if ident == f"{name}_{number}":
                return bool(told["states"][0]["status"].upper() in ("CANCELLED", "EXPIRED"))
    return False


def _bad_polls(scene: Scene) -> list[Mapping[str, Any]]:
    polled = ("/v0/jobs/", "/v0/connectors/plans/runs/")
    kinds = [one for one in scene.troubles() if one.get("kind") in ("5xx", "half", "down")]
    busy = [one for path in polled for one in scene.answers(path) if one["status"] == 429 or one["status"] >= 500]
    return [one for one in (*kinds, *busy) if str(one.get("path", "")).startswith(polled)]


def _next(scene: Scene, path: str) -> dict[str, Any] | None:
    """The body of the scripted success that this step meets at a path, if the last of them is one."""
    told = [one for one in scene.answers(path) if one.get("path") == path]
    last = told[-1] if told else {}
    return as_object(last.get("body")) if last.get("status") == 200 else None


def _executed(scene: Scene) -> dict[str, Any] | None:
    path = {"connector_execute_job": EXECUTE_JOB, "plan_execute": PLAN_EXECUTE}.get(scene.call.tool)
    return _next(scene, path) if path else None


def _handoff_of(body: Mapping[str, Any] | None) -> handoff.Handoff | None:
    return handoff.of_plan(body) if handoff.run_of(body) else handoff.of_job(body)


def _pending_of(body: Mapping[str, Any] | None) -> Any:
    return (body or {}).get("pending_approval") or (handoff.job_of(body) or {}).get("pending_approval")


def _path_id(scene: Scene) -> str:
    """The id that this call puts into a path; "" when it puts none."""
    call = scene.call
    if call.tool in _IDS:
        return string(call.arguments.get(_IDS[call.tool]))
    if call.tool == "approval_wait":
        handle = as_object(call.arguments.get("handle")) or {}
        name = {"JOB": "job_id", "PLAN_RUN": "run_id"}.get(string(handle.get("kind")).upper(), "")
        return string(handle.get(name))
    return ""


def _profile_refused(tool: str, request: Mapping[str, Any]) -> bool:
    """Does the profile step end the tool before anything is validated?"""
    if tool != "connector_execute_job" or request.get("connector_id") != "generic.http":
        return False
    inner = request.get("request")
    return not isinstance(inner, dict) or bool(inner.get("secret_attachments"))


def _failed_step(scene: Scene) -> Mapping[str, Any]:
    """The details of the failure that the plan of this passport mail meets."""
    told = scene.answers(PLAN_EXECUTE) if scene.call.tool == PASSPORT else []
    error = (as_object(told[-1].get("body")) or {}).get("error") if told and told[-1]["status"] >= 400 else None
    return as_object((as_object(error) or {}).get("details")) or {}


def _is_read(details: Mapping[str, Any]) -> bool:
    return details.get("step_id") in ("read_existing_profile", "read_after_extract_profile")


def _request_text(scene: Scene) -> str:
    if scene.call.tool != "route_resolve":
        return ""
    texts = (string(scene.call.arguments.get(name)) for name in ("request_text", "request", "text"))
    return next((text for text in texts if text), "")


def _bundle(call: Call) -> Mapping[str, Any]:
    return as_object(call.arguments.get("bundle")) or {}


def _without_cookbook(scene: Scene) -> bool:
    gone = [step.arguments for step in scene.before if isinstance(step, Call) and step.tool == "cookbook_delete"]
    return any((one.get("cookbook_id"), one.get("version")) == GOOGLE for one in gone)


def _restarted(scene: Scene) -> bool:
    return _without_cookbook(scene) and any(isinstance(step, Restart) for step in scene.before)


def _session_token(scene: Scene) -> str:
    """The token of the session that this step sees, or makes; "" for none."""
    token = TOKEN if scene.script.session else ""
    for step in (*scene.before, scene.call):
        if isinstance(step, Call) and step.tool == "session_clear":
            token = ""
        if isinstance(step, Call) and step.tool == "session_configure":
            token = string(step.arguments.get("token")) or ("" if step is scene.call else token)
    return "" if scene.call.scope else trim(token)


def _is_short(token: str) -> bool:
    return SHOWN_FROM <= len(token.encode()) < SHORT_BELOW
