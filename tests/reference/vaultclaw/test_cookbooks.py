"""The cookbooks that come with the project have what the routes need. Source: contract vaultclaw 18.4, 18.8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lasttick.reference.vaultclaw as package
from lasttick.model.vaultclaw.bundle import valid_bundle
from lasttick.model.vaultclaw.json_text import parse
from lasttick.model.vaultclaw.template import render

[HOME] = package.__path__
MAIL = {"to": ["a@example.com"], "subject": "Hello", "text_plain": "Dear A"}
COMPOSE_DEFAULTS = ["bcc", "cc", "document_attachments", "text_html"]
EMPTY = {"bcc": [], "cc": [], "document_attachments": [], "text_html": ""}


def entries(version: str) -> dict[str, Any]:
    bundle = valid_bundle(parse((Path(HOME) / "cookbooks" / f"google.workspace-{version}.json").read_bytes()))
    assert (bundle["cookbook_id"], bundle["version"]) == ("google.workspace", version)
    return {entry["entry_id"]: entry for entry in bundle["entries"]}


def rendered(entry_id: str, inputs: dict[str, Any]) -> tuple[Any, list[str]]:
    data = render(entries("1.3.0")[entry_id], inputs, "", "google.workspace", "1.3.0")
    return data["rendered"], sorted(used["input_key"] for used in data["used_defaults"])


TAGS = {
    "gmail_tpl_plan_send_email_v1": ("template.plan.v1", "gmail send draft"),
    "gmail_tpl_plan_reply_in_thread_v1": ("template.plan.v1", "gmail reply thread"),
    "gmail_tpl_plan_create_draft_v1": ("template.plan.v1", "gmail draft"),
    "gmail_tpl_verb_messages_get_metadata_v1": ("template.verb.v1", "gmail messages metadata"),
    "gmail_tpl_verb_messages_get_content_v1": ("template.verb.v1", "gmail messages content"),
    "gmail_tpl_verb_messages_list_by_label_v1": ("template.verb.v1", "gmail messages list"),
    "gmail_tpl_verb_messages_modify_labels_v1": ("template.verb.v1", "gmail messages labels"),
    "gmail_recipe_labels_list_v1": ("recipe.verb.v1", "gmail labels"),
    "gmail_recipe_messages_list_inbox_v1": ("recipe.verb.v1", "gmail inbox messages"),
    "gmail_recipe_plan_send_status_update_v1": ("recipe.plan.v1", "gmail status update"),
}


@pytest.mark.parametrize("entry_id", TAGS)
def test_each_route_finds_its_entry(entry_id: str) -> None:
    entry = entries("1.3.0")[entry_id]
    assert (entry["entry_type"], entry["tags"]) == (TAGS[entry_id][0], sorted(TAGS[entry_id][1].split()))


def test_older_versions_have_less() -> None:
    sizes = [len(entries(version)) for version in ("1.1.0", "1.2.0", "1.3.0")]
    assert sizes == sorted(set(sizes))
    assert set(entries("1.1.0")) < set(entries("1.2.0")) < set(entries("1.3.0"))


def test_send_and_draft() -> None:
    for entry_id, count in (("gmail_tpl_plan_send_email_v1", 2), ("gmail_tpl_plan_create_draft_v1", 1)):
        plan, defaults = rendered(entry_id, MAIL)
        assert defaults == COMPOSE_DEFAULTS
        assert plan["start_step_id"] == "create_draft"
        assert [step["verb"] for step in plan["steps"]] == [
            "google.gmail.drafts.create",
            "google.gmail.drafts.send",
        ][:count]
        assert plan["steps"][0]["request_base"] == {"user_id": "me", **MAIL, **EMPTY}
        with_copies, _ = rendered(entry_id, MAIL | {"cc": ["c@example.com"]})
        assert with_copies["steps"][0]["request_base"]["cc"] == ["c@example.com"]


def test_reply() -> None:
    plan, defaults = rendered(
        "gmail_tpl_plan_reply_in_thread_v1", {"to": ["a@b.c"], "text_plain": "Yes", "thread_id": "t"}
    )
    assert plan["start_step_id"] == "create_reply_draft"
    assert "subject" in defaults
    base = plan["steps"][0]["request_base"]
    assert (base["subject"], base["thread_id"], base["to"], base["text_plain"]) == ("Re:", "t", ["a@b.c"], "Yes")


@pytest.mark.parametrize("entry_id", [name for name in TAGS if "plan" in name])
def test_a_plan_leads_from_its_start_to_its_end(entry_id: str) -> None:
    entry = entries("1.3.0")[entry_id]
    plan = entry.get("plan") or entry["base_plan"]
    assert plan["type"] == "connector.execution.plan.v1"
    steps = {step["step_id"]: step for step in plan["steps"]}
    step = steps[plan["start_step_id"]]
    assert step is plan["steps"][0]
    walked = [step["step_id"]]
    while following := step.get("default_success_next_step_id"):
        step = steps[following]
        walked.append(following)
        [binding] = step["request_bindings"]
        assert binding == {
            "path": "/draft_id",
            "ref": {"source": "step_output", "step_id": walked[0], "path": "/draft_id"},
        }
    assert sorted(walked) == sorted(steps)
    assert all((s["connector_id"], s["request_base"]["user_id"]) == ("google", "me") for s in plan["steps"])


def test_verb_templates() -> None:
    request, defaults = rendered("gmail_tpl_verb_messages_get_metadata_v1", {"message_id": "m"})
    assert (request["verb"], request["request"], defaults) == (
        "google.gmail.messages.get",
        {"user_id": "me", "message_id": "m", "format": "metadata"},
        ["format"],
    )
    request, _ = rendered("gmail_tpl_verb_messages_get_content_v1", {"message_id": "m"})
    assert (request["verb"], request["request"]["message_id"]) == ("google.gmail.messages.get_content", "m")
    request, _ = rendered("gmail_tpl_verb_messages_list_by_label_v1", {})
    assert (request["verb"], request["request"]["page_limit"]) == ("google.gmail.messages.list", 25)
    assert request["query_ast_v1"]["pred"] == {"field": "label", "op": "eq", "value": {"kind": "enum", "enum": "inbox"}}
    request, _ = rendered("gmail_tpl_verb_messages_list_by_label_v1", {"label": "work", "page_limit": 3})
    assert (request["query_ast_v1"]["pred"]["value"]["enum"], request["request"]["page_limit"]) == ("work", 3)
    request, defaults = rendered("gmail_tpl_verb_messages_modify_labels_v1", {"message_id": "m"})
    assert request["verb"] == "google.gmail.messages.modify"
    assert defaults == ["add_label_ids", "remove_label_ids"]
    assert request["request"] == {"user_id": "me", "message_id": "m", "add_label_ids": [], "remove_label_ids": []}


def test_recipes() -> None:
    all_of_it = entries("1.3.0")
    inbox = all_of_it["gmail_recipe_messages_list_inbox_v1"]
    assert (inbox["connector_id"], inbox["verb"]) == ("google", "google.gmail.messages.list")
    assert inbox["request"] == {"user_id": "me", "page_limit": 25}
    labels = all_of_it["gmail_recipe_labels_list_v1"]
    assert (labels["verb"], labels["request"]) == ("google.gmail.labels.list", {"user_id": "me"})
    for name in ("gmail_tpl_plan_trash_message_v1", "gmail_tpl_plan_untrash_message_v1"):
        plan, _ = rendered(name, {"message_id": "m"})
        assert plan["steps"][0]["request_base"]["message_id"] == "m"
