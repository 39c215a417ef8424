"""Calls that a seed makes up: any tool with odd arguments, and sentences of a small grammar.

Only arguments on which no ruling speaks of something random are made up: identifiers that need no escaping, no weather.
The same seed gives the same calls everywhere. Source: VC-21, contract vaultclaw 1 and 18.
"""

from __future__ import annotations

import random
from typing import Any

from lasttick.compare.corpus_tools import FETCH, LABELS, NAMES, PLAN, SEND, bundle
from lasttick.compare.script import Call, Script

CALLS_PER_SCRIPT = 20
TEXTS = ("", " ", "google", "generic.http", "google.gmail.labels.list", "job_1", "run_1", "WAITING", " x ", "é", "1")
_WHO = ("a@example.com", "b@example.org, c@example.org", "Bob", "")
_VERBS = ("send an email to", "create a gmail draft to", "reply to the email of", "mail", "forward")
_WHAT = (
    'with subject "Lunch" and body "At noon"',
    "with subject Lunch and message body At noon. Bye",
    "about the quarterly report",
    "regarding 'my trip', please",
    "saying that all is well",
    "message id: 18f2a9c0d1e2",
    "thread_id=abc_DEF-1",
    "",
)
_OTHERS = (
    "list the first 5 messages with label: Work",
    "show the last 3 emails of the inbox",
    "get the content of message 18f2a9c0d1e2",
    "modify the labels of message id 18f2a9c0d1e2 label urgent",
    "POST to https://api.example.com/x?a=1 with http",
    "send a status update by gmail",
    "do something with the calendar",
    "list labels gmail",
)
_OBJECTS: dict[str, tuple[Any, ...]] = {
    "request": (FETCH, LABELS, SEND),
    "plan": (PLAN, {"steps": []}, {"steps": [5, {"connector_id": "google"}]}),
    "bundle": (bundle("made.up"), bundle("made.up", "2.0.0-a"), {"type": "odd"}),
    "profile": ({"type": "odd"}, {}),
    "source": ({"source_id": "made", "index_url": "http://127.0.0.1:1/i", "enabled": False}, {}),
    "requirements": ([{"slot": "s", "mode": "m", "target": "t"}], [], [1]),
    "handle": ({"kind": "JOB", "job_id": "none"}, {"kind": "PLAN_RUN"}, {}),
}
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "connector_get": ("connector_id",),
    "connector_validate": ("request",),
    "connector_execute": ("request",),
    "connector_execute_job": ("request", "orchestration"),
    "document_types_suggest": ("query", "top_k"),
    "document_types_latest": ("type_id", "subject_id"),
    "plan_validate": ("plan",),
    "plan_execute": ("plan", "plan_input", "orchestration"),
    "plan_run_get": ("run_id",),
    "plan_unbounded_profile_preview": ("plan", "plan_input"),
    "slot_bindings_list": ("connector_id", "verb", "include_revoked"),
    "slot_bind": ("connector_id", "verb", "slot", "secret_id"),
    "unbounded_profiles_list": ("connector_id", "verb", "include_revoked"),
    "unbounded_profile_get": ("profile_id",),
    "unbounded_profile_upsert": ("profile",),
    "unbounded_profile_resolve": ("requirements", "auto_create"),
    "job_get": ("job_id",),
    "approvals_pending_list": ("states", "limit", "connector_id", "verb", "agent_id", "challenge_id"),
    "approvals_pending_get": ("challenge_id", "pending_id"),
    "approval_wait": ("handle",),
    "passport_email_workflow": ("recipient_email", "request_text", "subject", "body_style", "manual_fields"),
    "cookbooks_list": ("filter",),
    "cookbook_get": ("cookbook_id", "version"),
    "cookbook_export": ("cookbook_id", "version"),
    "cookbook_delete": ("cookbook_id",),
    "cookbook_upsert": ("bundle", "conflict_policy"),
    "cookbook_import": ("bundle", "conflict_policy"),
    "recipes_search": ("query", "connector_id", "verb", "tags", "entry_type"),
    "recipe_get": ("cookbook_id", "recipe_id", "version"),
    "template_render": ("cookbook_id", "template_id", "inputs", "version", "output_kind"),
    "catalog_source_upsert": ("source",),
    "catalog_source_delete": ("source_id",),
    "cookbooks_remote_list": ("source_id", "query"),
    "cookbook_remote_install": ("source_id", "cookbook_id", "version", "expected_sha256"),
}


def scripts(seed: int, calls: int) -> tuple[Script, ...]:
    """So many calls, in scripts of some: every tool gets its turn before any gets another."""
    chance = random.Random(f"compare/{seed}")
    tools: list[str] = []
    made: list[Call] = []
    while len(made) < calls:
        tools = tools or chance.sample(NAMES, len(NAMES))
        made.append(_call(chance, tools.pop()))
    parts = [made[at : at + CALLS_PER_SCRIPT] for at in range(0, len(made), CALLS_PER_SCRIPT)]
    return tuple(Script(f"generated/{seed}-{number}", tuple(part)) for number, part in enumerate(parts, 1))


def _call(chance: random.Random, tool: str) -> Call:
    if tool == "route_resolve":
        return Call(tool, {"request_text": _sentence(chance)})
    if tool.startswith("session_"):
        return Call("session_status")
    return Call(tool, {name: _value(chance, name) for name in _ARGUMENTS.get(tool, ()) if chance.random() < 0.85})


def _sentence(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return chance.choice(_OTHERS)
    return " ".join((chance.choice(_VERBS), chance.choice(_WHO), chance.choice(_WHAT))).strip()


def _value(chance: random.Random, name: str) -> Any:
    """Mostly what the argument is for; else any JSON."""
    if name in _OBJECTS and chance.random() < 0.8:
        return chance.choice(_OBJECTS[name])
    if chance.random() < 0.6:
        return chance.choice(TEXTS)
    return _json(chance, 2)


def _json(chance: random.Random, depth: int) -> Any:
    scalars: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, 1e21, 12345678901234567890, "x", "<&>", "\u2028")
    kind = chance.randrange(4) if depth else 0
    if kind < 2:
        return chance.choice(scalars)
    if kind == 2:
        return [_json(chance, depth - 1) for _ in range(chance.randrange(3))]
    return {chance.choice(("a", "b", "steps", "unbounded_profiles")): _json(chance, depth - 1) for _ in range(2)}
