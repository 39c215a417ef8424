"""Is every call answered, whatever JSON it brings? An answer or a refusal in three parts, and the state stays whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick_fakes.vaultd import Policy, VaultState, load
from lasttick_fakes.vaultd.connectors import DEFAULT_CONNECTORS, policy_hash
from lasttick_fakes.vaultd.door import Delivery, Door
from lasttick_fakes.vaultd.work import Now, Workroom

HASHES = {one.connector_id: policy_hash(one, Policy()) for one in DEFAULT_CONNECTORS}
WORDS = [
    "a",
    "b",
    "",
    "/a",
    "self",
    "me",
    "plan_input",
    "step_output",
    "literal",
    "api_key",
    "p",
    "http://x",
    "approve",
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS) | st.text(), inner, max_size=2),
    max_leaves=5,
)


def some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of these members, each as it should be or anything at all."""
    return st.fixed_dictionaries({}, optional={name: one | one | one | anything for name, one in members.items()})


attachment = some(slot=st.just("api_key"), mode=st.just("read"), target=st.just("x"), intent=st.just("a"))
inner = some(
    to=st.just([]),
    cc=anything,
    document_attachments=st.lists(some(type_id=st.just("a")), max_size=2),
    draft_id=st.just("d"),
    message_id=st.just("m"),
    method=st.just("GET"),
    url=st.just("http://x"),
    secret_attachments=st.lists(attachment, max_size=2),
    profile_id=st.just("p"),
    slots=st.just(["a"]),
    document_id=st.just("doc"),
    extracted_fields=st.just({"a": "b"}),
    subject_ref=st.just("self"),
)
verbs = st.sampled_from([(one.connector_id, verb) for one in DEFAULT_CONNECTORS for verb in one.verbs])


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    connector_id, verb = draw(verbs)
    given = {"connector_id": connector_id, "verb": verb, "request": draw(inner | anything)}
    return {**given, "module_hash": HASHES[connector_id]} if draw(st.booleans()) else given


ref = some(source=st.sampled_from(["plan_input", "step_output", "literal"]), path=st.just("/a"), step_id=st.just("a"))
when = some(op=st.sampled_from(["and", "or", "not", "exists", "eq"]), ref=ref, args=st.lists(some(op=st.just("eq"))))
branch = some(when=when, next_step_id=st.sampled_from("ab"))
binding = some(path=st.sampled_from(["/a", "/to", "/a/b"]), ref=ref)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    steps = []
    for step_id in "ab":
        connector_id, verb = draw(verbs)
        more = some(
            request_base=inner,
            request_bindings=st.lists(binding, max_size=2) | binding,
            success_branches=st.lists(branch, max_size=2) | branch,
            default_success_next_step_id=st.sampled_from(["", "a", "b"]),
        )
        steps.append({"step_id": step_id, "connector_id": connector_id, "verb": verb, **draw(more)})
    return {"type": "connector.execution.plan.v1", "steps": steps, **draw(some(start_step_id=st.just("a")))}


profile = some(
    type=st.just("connector.unbounded.profile.v1"),
    profile_id=st.just("p"),
    connector_id=st.just("generic.http"),
    verb=st.just("generic.http.request.v1"),
    slots=st.lists(some(slot=st.just("api_key"), allowed_modes=st.lists(st.just("read"))), max_size=2),
)
decision = some(
    challenge_id=st.just("ach_1"), pending_id=st.just("apj_1"), decision=st.sampled_from(["approve", "deny"])
)
plan_body = st.fixed_dictionaries({"plan": plans()}, optional={"plan_input": anything})
bind = some(connector_id=st.just("google"), verb=st.just("google.gmail.drafts.send"), slot=anything, secret_id=anything)
BODIES: dict[str, st.SearchStrategy[Any]] = {
    "/v0/connectors/validate": requests(),
    "/v0/connectors/execute": requests(),
    "/v0/connectors/execute-job": requests(),
    "/v0/connectors/plans/validate": plan_body,
    "/v0/connectors/plans/execute": plan_body,
    "/v0/connectors/approvals/decide": decision,
    "/v0/connectors/secrets/slots/bind": bind,
    "/v0/connectors/unbounded/profiles/upsert": some(profile=profile),
    "/v0/docs/types/suggest": some(query=st.just("passport"), top_k=st.just(5)),
}
PROFILE = {"type": "t", "profile_id": "p", "connector_id": "c", "verb": "v", "slots": [{"slot": "api_key"}]}


@pytest.mark.parametrize("path", BODIES)
@given(data=st.data(), token=st.sampled_from(["vc-agent", "vc-agent", "vc-approver"]), asks=st.booleans())
def test_any_json_is_answered_or_refused(path: str, data: st.DataObject, token: str, asks: bool) -> None:
    body = data.draw(BODIES[path] | anything)
    state = VaultState(
        policy=Policy(verbs={"generic.http.request.v1": "ask"}, bindings_required=True) if asks else Policy()
    )
    state.profiles["acme"] = {"p": PROFILE}
    state.documents.append({"document_id": "doc", "tenant": "acme", "type_id": "t", "subject_id": "self", "fields": {}})
    room = Workroom(state, lambda kind, data: None)
    headers = (("Authorization", f"Bearer {token}"), ("Idempotency-Key", "k"))
    delivery = Delivery("POST", path, "", headers, json.dumps(body).encode())
    status, answer = Door(room).deliver(delivery, Now(0, 0))
    assert status in (200, 400, 403, 404, 409, 422), answer
    if status != 200:
        assert set(answer["error"]) == {"code", "message", "details"}
        assert answer["error"]["message"].count(";") >= 2, answer
    again = Door(room).deliver(delivery, Now(0, 0))
    assert again == (status, answer), "the same key and body, the same answer"
    room.settle(Now(10**13, 10**7))
    assert all(work.status != "RUNNING" and work.status != "PENDING" for work in state.works.values())
    assert load(json.loads(json.dumps(state.dump()))) == state
