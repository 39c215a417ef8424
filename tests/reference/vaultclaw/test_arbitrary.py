"""Whatever the arguments and the vault's answers: an envelope, no traceback, no side effect that was not asked for.

Source: contract vaultclaw 1 ("No schema check"), 4; rulings VC-4, VC-7; VC-06, VC-14.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model.vaultclaw.envelope import CATEGORIES
from lasttick.model.vaultclaw.json_text import canonical
from lasttick.model.vaultclaw.validation import says_no
from lasttick.reference.vaultclaw.tools import approvals, execute_job, jobs, passport, plans, profiles

from .scripted_vault import ScriptedVault, Sent, failing, named, run_tool

TOOLS = [
    tool
    for group in (approvals, execute_job, jobs, passport, plans, profiles)
    for tool in sorted(group.TOOLS, key=lambda tool: tool.name)
]
POSTS = (
    "/v0/connectors/validate",
    "/v0/connectors/execute-job",
    "/v0/connectors/plans/validate",
    "/v0/connectors/plans/execute",
    "/v0/connectors/unbounded/profiles/upsert",
)
NAMES = sorted(
    {
        *(
            "request",
            "plan",
            "plan_input",
            "profile",
            "profile_id",
            "requirements",
            "handle",
            "kind",
            "job_id",
            "run_id",
        ),
        *("states", "limit", "timeout_ms", "orchestration", "connector_id", "verb", "steps", "step_id", "request_base"),
        *(
            "request_bindings",
            "path",
            "ref",
            "source",
            "value",
            "secret_attachments",
            "slot",
            "mode",
            "target",
            "intent",
        ),
        *("challenge_id", "pending_id", "text", "manual_fields", "job", "run", "items", "pending_approval", "error"),
        *("code", "status", "state", "valid", "errors", "policy_hash", "slots", "document_id", "item", "module_hash"),
    }
)
WORDS = st.sampled_from(
    [
        *("generic.http", "generic.http.request.v1", "google", "google.gmail.x", "JOB", "PLAN_RUN", "PENDING"),
        *("SUCCEEDED", "PENDING_APPROVAL", "PLAN_APPROVAL_REQUIRED", "plan_input", "literal", "/a/b", "a@b.com"),
        *("x", "", "."),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6)
REPLIES = st.none() | OBJECTS | st.sampled_from([failing(0, "NETWORK_ERROR"), failing(500, "X"), failing(404, "X")])


class Anything(dict[str, Any]):
    """A script that has an answer for every path, drawn in turn, the last one for ever."""

    def __init__(self, replies: list[Any]) -> None:
        super().__init__()
        self.replies = replies
        self.given: list[tuple[str, Any]] = []

    def __contains__(self, path: object) -> bool:
        return True

    def __getitem__(self, path: str) -> Any:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        self.given.append((path, reply))
        return lambda sent: reply


@settings(max_examples=200)
@given(st.sampled_from(TOOLS), OBJECTS, st.lists(REPLIES, min_size=1, max_size=6))
def test_every_call_ends_in_an_envelope_and_nothing_else_happens(tool: Any, arguments: Any, replies: list[Any]) -> None:
    script = Anything(replies)
    vault = ScriptedVault(script)
    answer = run_tool(tool, vault, **arguments)
    assert canonical(answer)
    assert answer["ok"] is (answer["error"] is None)
    assert answer["ok"] or CATEGORIES[answer["error"]["code"]] == answer["error"]["category"]
    for call in vault.calls:
        assert call.method == ("POST" if call.path in POSTS else "GET"), call
    executed = [call for call in vault.calls if call.path == "/v0/connectors/execute-job"]
    assert len(executed) <= 1
    if executed:
        before = vault.calls[vault.calls.index(executed[0]) - 1]
        assert (before.path, before.body) == ("/v0/connectors/validate", executed[0].body)
        assert not says_no(script.given[vault.calls.index(before)][1])


REQUEST = {
    "connector_id": "generic.http",
    "verb": "generic.http.request.v1",
    "request": {"secret_attachments": [{"slot": "s", "mode": "m", "target": "t"}]},
}


PROFILES = st.sampled_from([None, {}, {"profile": {}}, {"profile": {"profile_id": ""}}, failing(500, "X")])
JOBS = st.fixed_dictionaries({"job": JSON | st.fixed_dictionaries({"status": JSON | WORDS, "job_id": JSON}) | OBJECTS})


@given(REPLIES, PROFILES | REPLIES, st.just({"valid": True}) | REPLIES, JOBS | REPLIES, st.booleans())
def test_a_job_is_executed_with_a_sound_profile_or_not_at_all(
    listed: Any, got: Any, validated: Any, done: Any, creates: bool
) -> None:
    def answer(reply: Any) -> Any:
        return lambda sent: reply

    base = "/v0/connectors/unbounded/profiles"
    script = {f"{base}/list": answer(listed), f"{base}/get": answer(got), f"{base}/upsert": answer({})}
    script |= {"/v0/connectors/validate": answer(validated), "/v0/connectors/execute-job": answer(done)}
    script["/v0/connectors/approvals/pending"] = answer(None)
    vault = ScriptedVault(script)
    options = {"auto_create_profiles": creates}
    tool = named(execute_job.TOOLS, "connector_execute_job")
    envelope = run_tool(tool, vault, request=REQUEST, orchestration=options)
    executed: list[Sent] = [call for call in vault.calls if call.path == "/v0/connectors/execute-job"]
    assert len(executed) <= 1
    for call in executed:
        assert call.body["request"]["profile_id"]
        assert not says_no(validated)
    if envelope["ok"]:
        assert done["job"]["status"] in ("PENDING", "PENDING_APPROVAL", "SUCCEEDED")
        assert done["job"].get("pending_approval") in (None, {}) or done["job"]["status"] != "PENDING"
