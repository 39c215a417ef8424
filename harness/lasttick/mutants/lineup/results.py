"""Wrong versions of what is an answer to a card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model.lineup import results
from lasttick.mutants import Mutant

CHOICE = "lineup/results/a-choice-takes-one-action-and-nothing-else"
ONE_FIELD = "lineup/results/an-input-of-one-field-takes-its-text"


def any_mode(right: Any) -> Callable[..., Any]:
    """Who reads a choice does not look at its mode."""
    return lambda schema: results.one_action if schema.get("kind") == "choice" else right(schema)


def reading(kind: str, change: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    """Results of cards of that kind are changed before they are read, and so are taken."""

    def wrong(right: Any) -> Callable[..., Any]:
        def reader(schema: Any) -> Any:
            read = right(schema)
            if read is None or schema.get("kind") != kind:
                return read
            return lambda schema_, result: read(schema_, change(dict(schema_), dict(result)))

        return reader

    return wrong


def first_of_several(schema: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Several actions at once are the first of them."""
    listed = result.get("action_ids")
    return {**result, "action_ids": listed[:1]} if isinstance(listed, list) else result


def only_what_is_known(schema: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Whatever stands beside an action is left out."""
    return {"action_id": result["action_id"]} if "action_id" in result else result


def without_case(schema: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """`STUDY ` is near enough to `study`."""
    given = result.get("action_id")
    return {**result, "action_id": given.strip().lower()} if isinstance(given, str) else result


def stripped(schema: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """A person's text loses its blanks at both ends."""
    return {name: value.strip() if isinstance(value, str) else value for name, value in result.items()}


def first_field(schema: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """A text for a card of several fields goes into the first."""
    return {"values": {schema["fields"][0]["id"]: result["text"]}} if list(result) == ["text"] else result


def cut(schema: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """What is too long is cut, without a word."""
    text, most = result.get("text"), schema["fields"][0]["max_length"]
    return {**result, "text": text[:most]} if isinstance(text, str) else result


def nothing_is_required(right: Any) -> Callable[..., Any]:
    def reader(schema: Any) -> Any:
        read = right(schema)
        if read is None or schema.get("kind") != "input":
            return read
        fields = [{**field, "required": False} for field in schema["fields"]]
        return lambda schema_, result: read({**schema_, "fields": fields}, result)

    return reader


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/legacy-multi-card-answerable",
        breaks="LU-05",
        text="a multi-choice card of an older adapter takes one of its actions as the answer",
        killed_by="lineup/results/a-card-of-several-answers-takes-none",
        patch=lambda seam: seam.wrap(results, "reader", any_mode),
    ),
    Mutant(
        "lineup/first-of-several-actions",
        breaks="LU-03",
        text="two actions at once are taken for the first of them",
        killed_by=CHOICE,
        patch=lambda seam: seam.wrap(results, "reader", reading("choice", first_of_several)),
    ),
    Mutant(
        "lineup/other-members-ignored",
        breaks="LU-03",
        text="an answer in both ways at once, or with more beside it, is taken",
        killed_by=CHOICE,
        patch=lambda seam: seam.wrap(results, "reader", reading("choice", only_what_is_known)),
    ),
    Mutant(
        "lineup/action-without-case",
        breaks="LU-03",
        text="an id that is not the card's, but looks like it, is taken",
        killed_by=CHOICE,
        patch=lambda seam: seam.wrap(results, "reader", reading("choice", without_case)),
    ),
    Mutant(
        "lineup/text-is-stripped",
        breaks="LU-04",
        text="what a person typed loses its blanks at both ends",
        killed_by=ONE_FIELD,
        patch=lambda seam: seam.wrap(results, "reader", reading("input", stripped)),
    ),
    Mutant(
        "lineup/text-is-cut",
        breaks="LU-04",
        text="a text that is too long is cut to the field's length and taken",
        killed_by=ONE_FIELD,
        patch=lambda seam: seam.wrap(results, "reader", reading("input", cut)),
    ),
    Mutant(
        "lineup/text-for-the-first-field",
        breaks="LU-04",
        text="a text for a card of several fields is put into the first",
        killed_by="lineup/results/an-input-of-several-fields-takes-values-only",
        patch=lambda seam: seam.wrap(results, "reader", reading("input", first_field)),
    ),
    Mutant(
        "lineup/blank-is-an-answer",
        breaks="LU-04",
        text="a required field may be blank or missing",
        killed_by=ONE_FIELD,
        patch=lambda seam: seam.wrap(results, "reader", nothing_is_required),
    ),
]
