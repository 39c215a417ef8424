"""Does each call ask for its scope, judge strictly, and keep tenants apart?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick_fakes.vaultd import SCOPES
from lasttick_fakes.vaultd.connectors import DEFAULT_CONNECTORS, Policy, policy_hash
from lasttick_fakes.vaultd.validate import validate

CONNECTORS = {one.connector_id: one for one in DEFAULT_CONNECTORS}
HASH = policy_hash(CONNECTORS["google"], Policy())
MAIL = {"to": ["a@example.com"], "subject": "s", "text_plain": "t"}
HTTP = {"connector_id": "generic.http", "verb": "generic.http.request.v1"}
URL = {"method": "GET", "url": "https://api.example.com/x"}
ATTACHED = {"slot": "api_key", "mode": "read", "target": "https://api.example.com", "intent": "http.auth"}
PROFILES = "/v0/connectors/unbounded/profiles"

CALLS = [
    ("GET", "/v0/connectors", "connectors.list.v1"),
    ("GET", "/v0/connectors/google", "connectors.get.v1"),
    ("POST", "/v0/connectors/validate", "connectors.execute.v1"),
    ("POST", "/v0/connectors/execute", "connectors.execute.v1"),
    ("POST", "/v0/connectors/execute-job", "connectors.execute_job.v1"),
    ("POST", "/v0/connectors/plans/validate", "connectors.plans.execute.v1"),
    ("POST", "/v0/connectors/plans/execute", "connectors.plans.execute.v1"),
    ("GET", "/v0/connectors/plans/runs/run_1", "connectors.plans.read.v1"),
    ("GET", "/v0/jobs/job_1", "connectors.execute_job.v1"),
    ("GET", "/v0/connectors/approvals/pending", "connectors.approvals.pending.read.v1"),
    ("POST", f"{PROFILES}/upsert", "connectors.unbounded.profiles.write"),
    ("POST", "/v0/docs/types/suggest", "docs.types.suggest"),
    ("GET", "/v0/docs/types/latest", "docs.types.latest"),
]


def mail(verb: str = "google.gmail.messages.send", *, module_hash: Any = HASH, **inner: Any) -> dict[str, Any]:
    return {"connector_id": "google", "verb": verb, "request": {**MAIL, **inner}, "module_hash": module_hash}


def identity(verb: str, **inner: Any) -> dict[str, Any]:
    return {"connector_id": "identity", "verb": verb, "request": inner}


@pytest.mark.parametrize(("method", "path", "scope"), CALLS)
def test_a_call_needs_its_scope_and_no_other(run, method: str, path: str, scope: str) -> None:
    async def story(bench):
        body = {} if method == "POST" else None
        for scopes in ([], [one for one in SCOPES if one != scope]):
            await bench.put("tokens/t", {"tenant": "acme", "agent_id": "a", "scopes": scopes})
            answer = await bench.call(method, path, body, token="t")
            either = path.endswith(("/validate", "job_1")) and "plans" not in path and scopes
            if not either:
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
                assert answer.json()["error"]["details"] == {"required_scope": scope}
        await bench.put("tokens/t", {"tenant": "acme", "agent_id": "a", "scopes": [scope]})
        assert (await bench.call(method, path, body, token="t")).status_code not in (401, 403)
        assert (await bench.call(method, path, body, token="none")).status_code == 401
        assert (await bench.http.request(method, path)).json()["error"]["code"] == "UNAUTHENTICATED"

    run(story)


def test_an_approver_is_no_agent(run) -> None:
    async def story(bench):
        for method, path, scope in CALLS:
            answer = await bench.call(method, path, {} if method == "POST" else None, token="vc-approver")
            assert (answer.status_code == 403) == (scope != "connectors.approvals.pending.read.v1"), path

    run(story)


@pytest.mark.parametrize(
    ("request_body", "path", "code"),
    [
        ([], "", "TYPE_MISMATCH"),
        ({}, "/connector_id", "UNKNOWN_CONNECTOR"),
        ({"connector_id": ["google"]}, "/connector_id", "UNKNOWN_CONNECTOR"),
        (mail("google.gmail.nothing"), "/verb", "UNKNOWN_VERB"),
        ({**mail(), "verb": None}, "/verb", "UNKNOWN_VERB"),
        ({**mail(), "request": []}, "/request", "TYPE_MISMATCH"),
        (mail(module_hash=None), "/module_hash", "MODULE_HASH_REQUIRED"),
        (mail(module_hash=""), "/module_hash", "MODULE_HASH_REQUIRED"),
        (mail(module_hash="0" * 64), "/module_hash", "MODULE_HASH_MISMATCH"),
        ({**HTTP, "request": URL, "module_hash": "x"}, "/module_hash", "MODULE_HASH_MISMATCH"),
        (mail(to="a@example.com"), "/request/to", "TYPE_MISMATCH"),
        (mail(cc="a@example.com"), "/request/cc", "TYPE_MISMATCH"),
        (mail(bcc=[1]), "/request/bcc/0", "TYPE_MISMATCH"),
        (mail(body_text="t"), "/request/body_text", "FIELD_NOT_ALLOWED"),
        (mail(colour="red"), "/request/colour", "FIELD_NOT_ALLOWED"),
        (mail(text_html=7), "/request/text_html", "TYPE_MISMATCH"),
        (mail(document_attachments={}), "/request/document_attachments", "TYPE_MISMATCH"),
        (mail(document_attachments=["x"]), "/request/document_attachments/0", "TYPE_MISMATCH"),
        (mail(document_attachments=[{}]), "/request/document_attachments/0/type_id", "FIELD_REQUIRED"),
        (mail(document_attachments=[{"type_id": " "}]), "/request/document_attachments/0/type_id", "FIELD_REQUIRED"),
        (
            mail(document_attachments=[{"type_id": "a", "filename": 1}]),
            "/request/document_attachments/0/filename",
            "TYPE_MISMATCH",
        ),
        (
            mail(document_attachments=[{"type_id": "a", "size": 1}]),
            "/request/document_attachments/0/size",
            "FIELD_NOT_ALLOWED",
        ),
        ({**mail(), "request": {"subject": "s"}}, "/request/to", "FIELD_REQUIRED"),
        (mail("google.gmail.drafts.send", draft_id="d"), "/request/to", "FIELD_NOT_ALLOWED"),
        ({**mail("google.gmail.drafts.send"), "request": {}}, "/request/draft_id", "FIELD_REQUIRED"),
        ({**mail("google.gmail.messages.trash"), "request": {"message_id": 7}}, "/request/message_id", "TYPE_MISMATCH"),
        ({**HTTP, "request": {"method": "GET", "url": ""}}, "/request/url", "INVALID_VALUE"),
        ({**HTTP, "request": {"method": "GET", "url": "ftp://x"}}, "/request/url", "INVALID_VALUE"),
        ({**HTTP, "request": {"method": "GET", "url": "http://[x"}}, "/request/url", "INVALID_VALUE"),
        (identity("identity.profile.read.v1", slots=7), "/request/slots", "TYPE_MISMATCH"),
        (identity("identity.profile.read.v1", subject_ref=7), "/request/subject_ref", "TYPE_MISMATCH"),
        (identity("identity.extraction.run.v1"), "/request/document_id", "FIELD_REQUIRED"),
        (identity("identity.extraction.run.v1", document_id=7), "/request/document_id", "TYPE_MISMATCH"),
        (identity("identity.extraction.run.v1", extracted_fields=[]), "/request/extracted_fields", "TYPE_MISMATCH"),
        ({**HTTP, "request": {"url": "http://x"}}, "/request/method", "FIELD_REQUIRED"),
    ],
)
def test_validate_finds_what_is_wrong_where_it_is(run, request_body: Any, path: str, code: str) -> None:
    async def story(bench):
        told = (await bench.ok("POST", "/v0/connectors/validate", request_body)).json()
        assert told["valid"] is False
        assert (path, code) in [(one["path"], one["code"]) for one in told["errors"]]
        assert all(sorted(one) == ["actual", "code", "expected", "message", "path"] for one in told["errors"])
        for way in ("execute", "execute-job"):
            answer = await bench.call("POST", f"/v0/connectors/{way}", request_body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
            assert answer.json()["error"]["details"]["errors"] == told["errors"]
        assert bench.vault.effects() == []

    run(story)


@pytest.mark.parametrize(
    "request_body",
    [
        mail(),
        mail(cc=[], bcc=["b@example.com"], text_html="<p>", thread_id="th", user_id="me"),
        mail(document_attachments=[{"type_id": "identity.passport", "filename": "p.pdf", "content_type": "a/b"}]),
        {**mail("google.gmail.drafts.send"), "request": {"user_id": "me", "draft_id": "d"}},
        {**mail("google.gmail.messages.list.v1"), "request": {"page_limit": 25}},
        {**HTTP, "request": URL},
        {"connector_id": "identity", "verb": "identity.profile.read.v1"},
    ],
)
def test_what_is_well_formed_is_valid(request_body: dict[str, Any]) -> None:
    assert validate(request_body, CONNECTORS, Policy()) == []


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
verbs = st.sampled_from([verb for one in DEFAULT_CONNECTORS for verb in one.verbs])
names = st.sampled_from(["to", "cc", "document_attachments", "draft_id", "message_id", "url", "method", "text_plain"])


@given(verb=verbs, inner=st.dictionaries(names, json) | json, outer=st.dictionaries(st.text(), json))
def test_validate_answers_whatever_it_is_given(verb: str, inner: Any, outer: dict[str, Any]) -> None:
    connector_id = next(one.connector_id for one in DEFAULT_CONNECTORS if verb in one.verbs)
    for one in validate({**outer, "connector_id": connector_id, "verb": verb, "request": inner}, CONNECTORS, Policy()):
        assert one.message.count(";") >= 2


def test_execute_does_it_at_once_or_says_who_must_be_asked(run) -> None:
    async def story(bench):
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "allow"}})
        done = (await bench.ok("POST", "/v0/connectors/execute", await bench.request())).json()
        assert done == {"result": {"message_id": "message_1"}}
        (effect,) = bench.vault.effects()
        assert (effect["kind"], effect["decided_by"], effect["work_id"]) == ("execute", "", "")
        for said, code in (
            ("ask", "CONNECTOR_APPROVAL_DECISION_REQUIRED"),
            ("grant", "CONNECTOR_APPROVAL_GRANT_REQUIRED"),
            ("deny", "CONNECTOR_APPROVAL_RULE_DENIED"),
        ):
            await bench.put("policies", {"verbs": {"google.gmail.messages.send": said}})
            assert await bench.refused("POST", "/v0/connectors/execute", await bench.request()) == (403, code)
        assert len(bench.vault.effects()) == 1

    run(story)


def test_execute_job_by_each_word_of_the_policy(run) -> None:
    async def story(bench):
        path = "/v0/connectors/execute-job"
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "allow"}})
        job = (await bench.ok("POST", path, await bench.request())).json()["job"]
        assert (job["status"], job["result"]) == ("SUCCEEDED", {"message_id": "message_1"})
        assert "pending_approval" not in job
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "grant"}})
        job = (await bench.ok("POST", path, await bench.request())).json()["job"]
        assert (job["status"], job["error"]["code"]) == ("PENDING", "CONNECTOR_APPROVAL_GRANT_REQUIRED")
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "deny"}})
        assert await bench.refused("POST", path, await bench.request()) == (403, "CONNECTOR_APPROVAL_RULE_DENIED")

    run(story)


def test_the_hash_follows_the_policy(run) -> None:
    async def story(bench):
        before = await bench.get("/v0/connectors/google")
        listed = (await bench.get("/v0/connectors"))["items"]
        assert [one["connector_id"] for one in listed] == ["generic.http", "google", "identity"]
        assert before in listed
        old = await bench.request()
        await bench.put("policies", {"verbs": {"google.gmail.labels.list": "ask"}})
        assert (await bench.get("/v0/connectors/google"))["policy_hash"] != before["policy_hash"]
        assert (await bench.get("/v0/connectors/identity")) in listed
        assert (await bench.refused("POST", "/v0/connectors/execute", old)) == (400, "INVALID_ARGUMENT")
        assert await bench.refused("GET", "/v0/connectors/none") == (404, "CONNECTOR_NOT_FOUND")
        await bench.put("connectors/own", {"verbs": ["own.do"]})
        assert (await bench.get("/v0/connectors/own"))["verbs"] == ["own.do"]

    run(story)


def test_a_path_parameter_is_one_segment(run) -> None:
    async def story(bench):
        await bench.put("connectors/a%2Fb", {"verbs": ["v"]})
        assert (await bench.get("/v0/connectors/a%2Fb"))["connector_id"] == "a/b"
        assert (await bench.refused("GET", "/v0/connectors/a/b")) == (404, "NOT_FOUND")
        assert (await bench.refused("DELETE", "/v0/connectors")) == (405, "METHOD_NOT_ALLOWED")
        assert (await bench.refused("POST", "/v0/jobs/job_1", {})) == (404, "NOT_FOUND")

    run(story)


def test_an_idempotency_key_belongs_to_one_body(run) -> None:
    async def story(bench):
        path, body = "/v0/connectors/execute-job", await bench.request()
        first = await bench.ok("POST", path, body, key="k")
        await bench.decide(first.json()["job"], "approve")
        again = await bench.ok("POST", path, body, key="k")
        assert again.json() == first.json(), "the answer of then"
        other = {**body, "request": {**body["request"], "subject": "other"}}
        assert await bench.refused("POST", path, other, key="k") == (409, "IDEMPOTENCY_CONFLICT")
        assert len(bench.vault.effects()) == 1
        assert (await bench.ok("POST", path, other, key="k2")).json()["job"]["job_id"] == "job_2"
        theirs = await bench.ok("POST", path, body, key="k", token="vc-other-agent")
        assert theirs.json()["job"]["job_id"] == "job_3"
        assert (await bench.ok("POST", path, body)).json()["job"]["job_id"] == "job_4", "no key, no memory"

    run(story)


def test_a_refusal_is_not_remembered_under_its_key(run) -> None:
    async def story(bench):
        profile = {"type": "connector.unbounded.profile.v1", **HTTP, "profile_id": "p", "slots": []}
        await bench.put("tokens/t", {"tenant": "acme", "agent_id": "a", "scopes": []})
        path = f"{PROFILES}/upsert"
        assert (await bench.refused("POST", path, {"profile": profile}, token="t", key="k"))[0] == 403
        await bench.put("tokens/t", {"tenant": "acme", "agent_id": "a"})
        assert (await bench.ok("POST", path, {"profile": profile}, token="t", key="k")).json()["created"] is True

    run(story)


def test_profiles_let_secrets_through_or_do_not(run) -> None:
    async def story(bench):
        async def use(**change: Any) -> Any:
            inner = {**URL, "secret_attachments": [{**ATTACHED, **change.pop("attached", {})}], **change}
            return await bench.call("POST", "/v0/connectors/execute", {**HTTP, "request": inner})

        slot = {
            "slot": "api_key",
            "required": True,
            "allowed_intents": ["http.auth"],
            "expected_secret_types": ["api-key"],
            "allowed_modes": ["read"],
            "allowed_targets": ["https://API.example.com"],
        }
        profile = {"type": "connector.unbounded.profile.v1", **HTTP, "profile_id": "p", "slots": [slot]}
        assert (await use()).json()["error"]["code"] == "UNBOUNDED_PROFILE_REQUIRED_FIELDS_MISSING"
        assert (await use(profile_id="p")).json()["error"]["code"] == "UNBOUNDED_PROFILE_NOT_FOUND"
        stored = (await bench.ok("POST", f"{PROFILES}/upsert", {"profile": profile})).json()
        assert stored == {"profile": profile, "created": True}
        assert (await bench.get(f"{PROFILES}/get?profile_id=p")) == {"profile": profile}
        item = {"profile_id": "p", **HTTP, "revoked": False}
        assert (await bench.get(f"{PROFILES}/list?connector_id=generic.http")) == {"items": [item]}
        assert (await bench.get(f"{PROFILES}/list?verb=other")) == {"items": []}
        assert (await use(profile_id="p")).status_code == 200
        assert (await use(profile_id="p", attached={"slot": "x"})).json()["error"]["code"].endswith("SLOT_UNRESOLVED")
        for slot_name in (7, ["api_key"], None):
            assert (await use(profile_id="p", attached={"slot": slot_name})).status_code == 422
        for attached in ({"mode": "write"}, {"target": "https://x"}, {"intent": "x"}, {"expected_secret_types": ["x"]}):
            answer = await use(profile_id="p", attached=attached)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "UNBOUNDED_PROFILE_SLOT_VIOLATION")
        path = f"{PROFILES}/get?profile_id=p"
        assert await bench.refused("GET", path, token="vc-other-agent") == (404, "UNBOUNDED_PROFILE_NOT_FOUND")
        await bench.ok("POST", f"{PROFILES}/upsert", {"profile": {**profile, "revoked": True}})
        assert (await bench.get(f"{PROFILES}/list")) == {"items": []}
        assert (await bench.get(f"{PROFILES}/list?include_revoked=true"))["items"][0]["revoked"] is True
        assert len(bench.vault.effects()) == 1

    run(story)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "x"},
        {"profile_id": ""},
        {"connector_id": 7},
        {"slots": None},
        {"slots": [7]},
        {"slots": [{}]},
        {"slots": [{"slot": "a", "allowed_modes": "read"}]},
        {"slots": [{"slot": "a", "allowed_targets": [7]}]},
    ],
)
def test_a_profile_that_is_none_is_not_stored(run, change: dict[str, Any]) -> None:
    async def story(bench):
        profile = {"type": "connector.unbounded.profile.v1", **HTTP, "profile_id": "p", "slots": [], **change}
        refused = await bench.refused("POST", f"{PROFILES}/upsert", {"profile": profile})
        assert refused == (400, "INVALID_ARGUMENT")
        assert (await bench.get(f"{PROFILES}/list")) == {"items": []}

    run(story)


def test_a_slot_holds_the_last_secret_bound(run) -> None:
    async def story(bench):
        slots, where = "/v0/connectors/secrets/slots", "connector_id=generic.http&verb=generic.http.request.v1"
        for secret in ("s1", "s2"):
            binding = (await bench.ok("POST", f"{slots}/bind", {**HTTP, "slot": "api_key", "secret_id": secret})).json()
            assert binding["binding"]["secret_id"] == secret
        bound = (await bench.get(f"{slots}/bindings?{where}"))["items"]
        assert [(one["secret_id"], one["revoked"]) for one in bound] == [("s2", False)]
        bound = (await bench.get(f"{slots}/bindings?{where}&include_revoked=true"))["items"]
        assert [(one["secret_id"], one["revoked"]) for one in bound] == [("s1", True), ("s2", False)]
        assert (await bench.get(f"{slots}/bindings?{where}", token="vc-other-agent")) == {"items": []}
        odd = {**HTTP, "verb": "x", "slot": "a", "secret_id": "s"}
        assert await bench.refused("POST", f"{slots}/bind", odd) == (404, "SECRET_SLOT_NOT_DEFINED")
        assert await bench.refused("POST", f"{slots}/bind", HTTP) == (400, "INVALID_ARGUMENT")

    run(story)


def test_where_bindings_are_required_a_slot_without_one_is_unresolved(run) -> None:
    async def story(bench):
        await bench.put("policies", {"bindings_required": True})
        profile = {"type": "connector.unbounded.profile.v1", **HTTP, "profile_id": "p", "slots": [{"slot": "api_key"}]}
        await bench.ok("POST", f"{PROFILES}/upsert", {"profile": profile})
        body = {**HTTP, "request": {**URL, "secret_attachments": [ATTACHED], "profile_id": "p"}}
        assert await bench.refused("POST", "/v0/connectors/execute", body) == (422, "SECRET_SLOT_UNRESOLVED")
        bind = {**HTTP, "slot": "api_key", "secret_id": "s"}
        await bench.ok("POST", "/v0/connectors/secrets/slots/bind", bind)
        await bench.ok("POST", "/v0/connectors/execute", body)

    run(story)


def test_document_types_are_suggested_and_the_latest_found(run) -> None:
    async def story(bench):
        suggest, latest = "/v0/docs/types/suggest", "/v0/docs/types/latest?type_id=identity.passport"
        told = (await bench.ok("POST", suggest, {"query": "my PASSPORT and an invoice", "top_k": 5})).json()
        assert [one["type_id"] for one in told["items"]] == ["finance.invoice", "identity.passport"]
        assert len((await bench.ok("POST", suggest, {"query": "passport invoice", "top_k": 1})).json()["items"]) == 1
        assert (await bench.ok("POST", suggest, {"query": "weather"})).json() == {"items": []}
        for bad in ({"query": ""}, {"query": "x", "top_k": 0}, {"query": "x", "top_k": True}):
            assert await bench.refused("POST", suggest, bad) == (400, "INVALID_ARGUMENT")
        assert await bench.refused("GET", latest) == (404, "DOCUMENT_SLOT_UNRESOLVED")
        for document in ("doc-1", "doc-2"):
            await bench.put(f"documents/{document}", {"tenant": "acme", "type_id": "identity.passport"})
        told = await bench.get(f"{latest}&subject_id=self")
        assert told["document_id"] == told["item"]["document_id"] == "doc-2"
        assert await bench.refused("GET", f"{latest}&subject_id=other") == (404, "DOCUMENT_SLOT_UNRESOLVED")
        assert await bench.refused("GET", latest, token="vc-other-agent") == (404, "DOCUMENT_SLOT_UNRESOLVED")
        await bench.put("types/pet.card", {"words": ["Cat"]})
        assert (await bench.ok("POST", suggest, {"query": "cat"})).json()["items"][0]["type_id"] == "pet.card"

    run(story)


@pytest.mark.parametrize("body", [b"", b"null", b"{", b"\xff", b"[" * 100_000, b'{"a": NaN}'])
def test_a_body_that_is_no_json_is_refused_and_logged(run, body: bytes) -> None:
    async def story(bench):
        for path in (path for method, path, _ in CALLS if method == "POST"):
            answer = await bench.http.post(path, content=body, headers={"authorization": "Bearer vc-agent"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT"), path
        assert {seen.status for seen in bench.vault.log()} == {400}

    run(story)


def test_a_body_over_the_bound_is_413(run) -> None:
    async def story(bench):
        answer = await bench.http.post("/v0/connectors/execute", content=b"x" * ((1 << 20) + 1))
        assert answer.status_code == 413
        assert [seen.status for seen in bench.vault.log()] == [413]

    run(story)
