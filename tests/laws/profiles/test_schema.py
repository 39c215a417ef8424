"""What editors are told: every key with its meaning, and the same files as the loader takes."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from lasttick.laws.profiles.init import profile_text, profiles
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.profiles.schema import DESCRIPTIONS, profile_schema

SCHEMA = profile_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "lasttick profile"
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_every_key_has_a_title_and_says_what_it_is_for() -> None:
    models = {**SCHEMA["$defs"], "Profile": SCHEMA}
    assert sorted(models) == sorted(DESCRIPTIONS)
    for model, definition in models.items():
        assert sorted(definition["properties"]) == sorted(DESCRIPTIONS[model])
        assert definition["additionalProperties"] is False
        for key, described in definition["properties"].items():
            assert described["title"] == key
            assert described["description"].endswith(".")


def test_keys_are_called_as_in_the_file() -> None:
    assert "json" in SCHEMA["$defs"]["Binding"]["properties"]
    assert "json_" not in SCHEMA["$defs"]["Binding"]["properties"]


@pytest.mark.parametrize("name", profiles())
def test_the_shipped_profiles_fit_as_they_are_written(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(tomllib.loads(profile_text(name)))] == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"version": 2},
        {"version": 1, "lease": {"aquire": {"tool": "x"}}},
        {"version": 1, "lease": {"ttl_s": "soon"}},
        {"version": 1, "lease": {"ttl_s": True}},
        {"version": 1, "lease": {"capacity": 0}},
        {"version": 1, "lease": {"busy": "waits"}},
        {"version": 1, "lease": {"use": {"tol": "x"}}},
        {"version": 1, "lease": {"use": {"outcomes": {"bussy": []}}}},
    ],
)
def test_what_does_not_fit(document: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(document)


def test_the_models_own_schema_is_untouched() -> None:
    assert Profile.model_json_schema()["title"] == "Profile"
