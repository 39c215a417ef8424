"""Wrong versions of what a sentence leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lasttick.model.vaultclaw.json_text import byte_order
from lasttick.model.vaultclaw.routing import compose, missing, passport_intent, score, search, weather
from lasttick.model.vaultclaw.routing.registry import Policy
from lasttick.model.vaultclaw.routing.request import FROM_FACTS, Inputs, Request
from lasttick.mutants import Mutant

ROUTES = "vaultclaw/routes/"


def all_of_it(captured: str) -> tuple[str, str]:
    """The place is whatever was captured, a time word in it too."""
    return captured, ""


def follow_up_first(right: Any) -> Callable[..., Any]:
    """A mail with a subject has the follow-up as its body, also when it carries a document."""

    def default_body(subject: str, document: str, *, blocked: bool) -> Any:
        return right(subject, "" if subject and not blocked else document, blocked=blocked)

    return default_body


def no_policies(connector_id: str, required: Iterable[str]) -> dict[str, Policy]:
    return {}


def never_deferred(request: Request) -> bool:
    return False


def the_first_of_them(right: Any) -> Callable[..., Any]:
    """Of routes that fit equally well, the one that the registry names first."""

    def best_routes(normal_text: str, tokens: frozenset[str]) -> Any:
        points, routes = right(normal_text, tokens)
        return points, routes[:1]

    return best_routes


def facts_win(right: Any) -> Callable[..., Any]:
    """A fact replaces what the request says."""

    def fill(self: Inputs, key: str, value: Any, source: str, reason: str) -> None:
        if source == FROM_FACTS and value:
            self.values.pop(key, None)
        right(self, key, value, source, reason)

    return fill


def first_recipient(recipients: list[str]) -> str:
    return recipients[0] if recipients else ""


def with_defaults(entry: Mapping[str, Any]) -> list[str]:
    """Each required binding's input, whether it has a default or not."""
    rows = entry.get("bindings") or ()
    return byte_order({row["input_key"] for row in rows if row.get("required") is not False})


def ask_for_texts(right: Any) -> Callable[..., Any]:
    """A text that the agent could find is asked of the user."""

    def policy_for(route: Any, input_key: str, request: Request) -> Any:
        return None if input_key == "text_plain" else right(route, input_key, request)

    return policy_for


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/location-swallows-timeframe",
        breaks="VC-18",
        ruling=5,
        text="the place of a weather request goes on over the time word that follows it",
        killed_by=ROUTES + "weather-waits-for-its-summary",
        patch=lambda seam: seam.replace(weather, "place_and_time", all_of_it),
    ),
    Mutant(
        "vaultclaw/follow-up-beats-attachment-default",
        breaks="VC-18",
        ruling=6,
        text="a mail with a document says that it follows up its own subject",
        killed_by=ROUTES + "a-document-has-a-body-of-its-own[no words]",
        patch=lambda seam: seam.wrap(compose, "default_body", follow_up_first),
    ),
    Mutant(
        "vaultclaw/search-route-asks-user",
        breaks="VC-18",
        text="the inputs of an HTTP template found by search are asked of the user",
        killed_by=ROUTES + "a-template-found-by-search-asks-for-what-it-needs",
        patch=lambda seam: seam.replace(search, "policies_of", no_policies),
    ),
    Mutant(
        "vaultclaw/default-is-asked-for",
        breaks="VC-18",
        text="a template's input is missing although its binding has a default",
        killed_by=ROUTES + "a-template-found-by-search-asks-for-what-it-needs",
        patch=lambda seam: seam.replace(search, "required_inputs", with_defaults),
    ),
    Mutant(
        "vaultclaw/one-point-is-enough",
        breaks="VC-18",
        text="an entry found by search wins with a lead of one point",
        killed_by=ROUTES + "two-entries-too-close-are-no-choice",
        patch=lambda seam: seam.replace(search, "LEAD", 1),
    ),
    Mutant(
        "vaultclaw/tie-takes-the-first",
        breaks="VC-18",
        text="of two routes that fit equally well the first one is taken",
        killed_by=ROUTES + "a-tie-is-a-question[strong]",
        patch=lambda seam: seam.wrap(score, "best_routes", the_first_of_them),
    ),
    Mutant(
        "vaultclaw/fact-replaces-recipient",
        breaks="VC-18",
        text="a fact of an input's name replaces what the request says, the recipient too",
        killed_by=ROUTES + "a-fact-never-replaces-what-the-request-says",
        patch=lambda seam: seam.wrap(Inputs, "fill", facts_win),
    ),
    Mutant(
        "vaultclaw/body-is-made-up",
        breaks="VC-18",
        text="a text that somebody has yet to write is replaced by a follow-up",
        killed_by=ROUTES + "a-text-that-is-yet-to-be-written-is-not-made-up[summary]",
        patch=lambda seam: seam.replace(compose, "body_deferred", never_deferred),
    ),
    Mutant(
        "vaultclaw/passport-to-the-first-of-several",
        breaks="VC-18",
        text="with several recipients the passport's fields go to the first",
        killed_by=ROUTES + "passport-fields-go-to-one-recipient",
        patch=lambda seam: seam.replace(passport_intent, "the_recipient", first_recipient),
    ),
    Mutant(
        "vaultclaw/text-asked-of-the-user",
        breaks="VC-18",
        text="a body that the agent could find by its other tools is asked of the user",
        killed_by=ROUTES + "who-is-asked-for-what",
        patch=lambda seam: seam.wrap(missing, "policy_for", ask_for_texts),
    ),
]
