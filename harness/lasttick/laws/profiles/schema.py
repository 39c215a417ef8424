"""What may stand in a profile, for an editor that completes keys and shows what each is for: its JSON Schema.

The shape comes from `profile.py`; what the keys mean is written here, one line each, so that the model stays readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick.laws.profiles.profile import Profile

_REACH = {
    "tool": "Kind: an MCP tool of the target, by its name.",
    "args": "Arguments of the tool, or of the Python method.",
    "meta": "The call's _meta.",
    "http": 'Kind: "METHOD /path" from the origin of the target\'s url, or "METHOD http://host/path".',
    "query": "Query parameters.",
    "headers": "Request headers, beside those of the caller.",
    "json": "The request's body, as JSON.",
    "form": "The request's body, as a form.",
    "run": "Kind: a program and its arguments, started without a shell.",
    "env": "Environment variables of the program.",
    "stdin": "What the program reads on standard input.",
    "python": 'Kind: "module:Class.method"; one instance per session of a caller.',
    "same": "Kind: this verb is only another one, such as a release that is the session's end.",
    "absent": "Kind: the target has no such verb; the value is the reason, which reports show.",
    "out": "Names for templates: JSON pointers into {status, headers, body, error, meta, lines, events}.",
    "outcomes": "Conditions under which an answer means busy, denied, pending, ok, error or lost.",
    "timeout_s": "How long an answer may take, in seconds.",
}
_SECTION = {"lag_s": "Longest time from a fact to its report or effect through these verbs, in seconds."}
_TOLERANCE = "How far from the declared time the end may be, in seconds; at least 3 round trips."

_VERBS = {
    "session": "Verbs of a caller's session.",
    "tools": "Verbs of tools.",
    "lease": "Verbs of leases, and what the target promises about them.",
    "approval": "Verbs of approvals, and what the target promises about them.",
    "source": "Verbs of what the target fetches from elsewhere, with a credential.",
    "clock": "Verbs that move the target's time.",
    "system": "Verbs of the target as a whole.",
    "effects": "What happened at the resource: out mark, at, end, resource, args, kind, call.",
    "log": "The target's own log, searched for secrets.",
}

DESCRIPTIONS: Mapping[str, Mapping[str, str]] = {
    "Binding": {
        **_REACH,
        "each": "Pointer to a list in the answer; out then starts at one element of it.",
        "say": "The target's words for {decision}: approve and deny.",
        "states": "The target's words for a state: held and free, or approved, denied, expired and pending.",
        "poll": "What is asked after the first answer, again and again, until a condition holds.",
        "lag_s": "Longest time from a fact to its report or effect through this verb, in seconds.",
    },
    "Poll": {
        **_REACH,
        "until": "Conditions of which one ends the asking.",
        "every_s": "Seconds from one answer to the next question.",
        "within_s": "Seconds after which the asking ends without a result.",
    },
    "Target": {
        "url": "The MCP endpoint, or any address of the HTTP API.",
        "command": "A program that speaks MCP on standard input and output, and its arguments.",
        "env": "Environment variables of the command, and of programs that bindings run.",
        "allow_hosts": "Hosts other than this machine that a check may act on.",
        "era": "The MCP era: handshake (up to 2025-11-25, with sessions) or modern (2026-07-28).",
        "timeout_s": "How long an answer may take where the binding does not say, in seconds.",
    },
    "CallerSpec": {
        "headers": "Headers of everything that this caller sends.",
        "env": "Environment variables of programs that run for this caller.",
        "vars": 'Names for templates; { run = ["program"] } asks a program once, and is a secret.',
        "tenant": "Callers with the same word belong together.",
        "id": "How the target names this caller, as in `by`.",
        "route": "The only route that this caller uses.",
        "may": "Names of tools that this caller may use.",
        "decides": "Whether this caller may answer approvals.",
    },
    "SessionVerbs": {
        **_SECTION,
        "open": "Begin what belongs to a caller's session; MCP tools have it without a binding.",
        "end": "End it.",
        "of": "Who may use a session: only the caller who opened it, or everybody of that caller's tenant.",
        "vars": "Names of vars by which a session goes that was opened elsewhere, such as the id of a run.",
    },
    "ToolVerbs": {
        **_SECTION,
        "list": "The tools that a caller sees; MCP has it without a binding.",
        "call": "One call of {tool} with {mark}.",
        "foreign": "What one may not use is hidden (answers like what is not there) or refused.",
        "volatile": "Pointers to what differs from one answer to the next, as in /headers/x-served-by.",
    },
    "LeaseVerbs": {
        **_SECTION,
        "acquire": "Ask for {resource}, or for any.",
        "use": "Act on {resource} for {hold_s} seconds, leaving {mark} there.",
        "renew": "Let the lease live on.",
        "release": "Give the lease back.",
        "holder": "Who is said to hold what: out resource, held, by.",
        "resources": "Resources that a law may ask for; without it those of holder, else the target chooses.",
        "ttl_s": "How long a lease lives after the last event that renews it, in seconds.",
        "busy": "What an asker of a taken resource gets: a refusal, a place in a queue, another resource.",
        "renewed_by": "What starts the TTL again: use, renew, acquire.",
        "in_flight": "A running use pins the lease, or ends with it.",
        "session_end": "The end of the holder's session frees the lease, or it keeps its TTL.",
        "capacity": "How many leases there can be at once.",
        "restart": "A restart of the target keeps leases, or ends them.",
        "tolerance_s": _TOLERANCE,
    },
    "ApprovalVerbs": {
        **_SECTION,
        "request": "Ask for an effect with {mark} that needs a person's yes.",
        "pending": "What the person sees now: out id, text, expires.",
        "decide": "Answer {id} with {decision}.",
        "resume": "The asker goes on, where a decision does not itself run the effect.",
        "outcome": "How {id} ended: out state, by.",
        "timeout_s": "When a request ends by itself, in seconds.",
        "on_timeout": "What it is then: denied or expired.",
        "restart": "A restart of the target keeps requests, or ends them.",
        "tolerance_s": _TOLERANCE,
    },
    "SourceVerbs": {
        **_SECTION,
        "add": "Tell the target of a place {url}, under the name {source}, from which it fetches with the credential.",
        "read": "Let it fetch the document at {source}.",
        "follow": "Let it fetch what the document at {source} leads to.",
        "remove": "Let it forget {source}.",
        "credential": "What the target shows at such a place.",
        "index": "What a document of such a place looks like that leads to {url}.",
    },
    "ClockVerbs": {
        **_SECTION,
        "advance": "Move the target's time by {seconds_s}.",
        "step": "Move only the target's wall clock by {seconds_s}.",
    },
    "SystemVerbs": {**_SECTION, "restart": "Restart the target."},
    "Verbs": _VERBS,
    "Profile": {
        **_VERBS,
        "version": "The version of this format: 1.",
        "profile": "Whose dialect the target speaks; none for one that is not ours. A check plays no dialect yet.",
        "target": "Where the target is.",
        "callers": "Who may speak to the target, by name.",
        "vars": "Names for templates, for all callers.",
        "outcomes": "What answers mean, for all verbs; a verb's own conditions come first.",
        "routes": "Other ways to the same verbs, by name.",
        "lag_s": "Longest time from a fact to its report or effect, sweepers included, in seconds.",
    },
}


def profile_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a profile, every key with a title and a description."""
    schema = Profile.model_json_schema(by_alias=True)
    for model, definition in {**schema["$defs"], "Profile": schema}.items():
        for key, described in definition["properties"].items():
            described["title"] = key
            described["description"] = DESCRIPTIONS[model][key]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "lasttick profile",
        "description": "How the laws reach one target, who its callers are, and what it promises.",
    }
