"""Which requests are known without a search? Eleven routes, each with its words and what it needs.

Source: contract vaultclaw 18.4; the policies for missing inputs: 18.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GMAIL = "google.gmail"
HTTP = "generic.http"
COOKBOOK = ("google.workspace", "1.3.0")
COMPOSE_GROUP = "gmail_compose_enrichment"
HTTP_GROUP = "generic_http_enrichment"


@dataclass(frozen=True, slots=True)
class Policy:
    """A missing input that the caller's agent can find by itself: as which fact, of which kind, asked in which batch.

    `for_weather`: the policy instead of this one when weather was asked for and no summary of it is known.
    """

    fact_key: str
    fact_kind: str
    batch_group: str
    for_weather: Policy | None = None


SUBJECT = Policy("email_subject", "text_field_generation", COMPOSE_GROUP)
FORECAST = Policy("weather_summary", "weather_forecast", COMPOSE_GROUP)
BODY = Policy("email_body", "text_field_generation", COMPOSE_GROUP, for_weather=FORECAST)


def http_policy(input_key: str) -> Policy:
    """An input of a generic.http request: the fact has the input's name."""
    return Policy(input_key, "connector_input_generation", HTTP_GROUP)


@dataclass(frozen=True, slots=True)
class Route:
    """One route. `policies`: by input; an input without one is asked of the user."""

    route_id: str
    domain: str
    strategy: str
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    entry_id: str = ""
    entry_type: str = ""
    cookbook_id: str = ""
    version: str = ""
    connector_id: str = ""
    verb: str = ""
    orchestration: Mapping[str, bool] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    composes: bool = False
    """A mail with a subject and a body, which 18.5 may fill."""


STRATEGIES = {"template": "TEMPLATE", "recipe": "RECIPE"}
"""By the first part of an entry's type."""
TOOLS = {
    "TEMPLATE": "vaultclaw_template_render",
    "RECIPE": "vaultclaw_recipe_get",
    "CONNECTOR_EXECUTE_JOB": "vaultclaw_connector_execute_job",
    "PLAN_EXECUTE": "vaultclaw_plan_execute",
}


def strategy_of(entry_type: str) -> str:
    return STRATEGIES.get(entry_type.partition(".")[0], "RECIPE")


def _gmail(
    name: str,
    entry_id: str,
    entry_type: str,
    keywords: str,
    tags: str,
    required: str = "",
    optional: str = "",
    policies: Mapping[str, Policy] | None = None,
) -> Route:
    return Route(
        f"{GMAIL}.{name}",
        GMAIL,
        strategy_of(entry_type),
        tuple(keywords.split()),
        tuple(tags.split()),
        tuple(sorted(required.split())),
        tuple(sorted(optional.split())),
        entry_id,
        entry_type,
        *COOKBOOK,
        policies=policies or {},
        composes=policies is not None,
    )


_PLAN, _VERB = "template.plan.v1", "template.verb.v1"
_MAIL = "cc bcc text_html document_attachments"

ROUTES: tuple[Route, ...] = (
    _gmail(
        "send_email.v1",
        "gmail_tpl_plan_send_email_v1",
        _PLAN,
        "send email gmail subject body",
        "gmail send draft",
        "subject text_plain to",
        _MAIL,
        {"subject": SUBJECT, "text_plain": BODY},
    ),
    _gmail(
        "reply_email.v1",
        "gmail_tpl_plan_reply_in_thread_v1",
        _PLAN,
        "reply respond thread email gmail",
        "gmail reply thread",
        "text_plain thread_id to",
        "subject text_html document_attachments",
        {"text_plain": BODY},
    ),
    _gmail(
        "create_draft.v1",
        "gmail_tpl_plan_create_draft_v1",
        _PLAN,
        "create draft email gmail subject",
        "gmail draft",
        "subject text_plain to",
        _MAIL,
        {"subject": SUBJECT, "text_plain": BODY},
    ),
    _gmail(
        "get_message_metadata.v1",
        "gmail_tpl_verb_messages_get_metadata_v1",
        _VERB,
        "metadata subject header message gmail",
        "gmail messages metadata",
        "message_id",
        "format",
    ),
    _gmail(
        "get_message_content.v1",
        "gmail_tpl_verb_messages_get_content_v1",
        _VERB,
        "content body message gmail read",
        "gmail messages content",
        "message_id",
    ),
    _gmail(
        "list_messages_by_label.v1",
        "gmail_tpl_verb_messages_list_by_label_v1",
        _VERB,
        "list messages inbox label gmail",
        "gmail messages list",
        "",
        "label page_limit",
    ),
    _gmail(
        "modify_message_labels.v1",
        "gmail_tpl_verb_messages_modify_labels_v1",
        _VERB,
        "label labels modify message gmail",
        "gmail messages labels",
        "message_id",
        "add_label_ids remove_label_ids",
    ),
    _gmail("list_labels.v1", "gmail_recipe_labels_list_v1", "recipe.verb.v1", "list labels gmail", "gmail labels"),
    _gmail(
        "list_inbox.v1",
        "gmail_recipe_messages_list_inbox_v1",
        "recipe.verb.v1",
        "list inbox messages gmail",
        "gmail inbox messages",
    ),
    _gmail(
        "send_status_update.v1",
        "gmail_recipe_plan_send_status_update_v1",
        "recipe.plan.v1",
        "status update send gmail",
        "gmail status update",
    ),
    Route(
        "generic.http.request.v1",
        HTTP,
        "CONNECTOR_EXECUTE_JOB",
        ("http", "url", "webhook", "endpoint", "request", "api"),
        ("http", "unbounded"),
        ("url",),
        ("method",),
        connector_id=HTTP,
        verb="generic.http.request.v1",
        orchestration={"unbounded_profiles": True, "auto_create_profiles": True},
        policies={"url": http_policy("url")},
    ),
)
