"""Is a file a profile at all? TOML with JSON values in it, and every key one that a profile has.

What the values mean to each other is the business of `rules.py`. Source: contract laws.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.problems import Problem, ProfileError, Source, did_you_mean, shown
from lasttick.laws.profiles.profile import VERBS, Profile, Section
from lasttick.laws.profiles.substitute import is_text

DEPTH_MAX = 50
INTEGER_END = 2**63
WRITTEN = "docs/check.md; `lasttick init --schema` writes every key"
_TOML_LINE = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")
_KEYS_OF = {"json_": "json"}


def parse(text: str, name: str) -> Source:
    """The file as it is written. Raises ProfileError."""
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "values nested too deep" if isinstance(error, RecursionError) else str(error)
        at = _TOML_LINE.search(reason)
        line = 0 if at is None else int(at.group(1)) if at.group(1) else text.count("\n") + 1
        raise ProfileError(
            Problem(
                f"{name}:{line}" if line else name,
                f"this is no TOML: {_TOML_LINE.sub('', reason).strip()}",
                "TOML 1.0 (https://toml.io)",
                "correct the line; texts stand in quotes",
                line,
            )
        ) from error
    source = Source(name, text, raw)
    if problems := _no_json(source):
        raise ProfileError(*problems)
    return source


def validate(document: dict[str, Any], source: Source) -> Profile:
    """The profile of a substituted document. Raises ProfileError with everything that is wrong with its keys."""
    try:
        return Profile.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise ProfileError(*(_problem(item["type"], item["loc"], item["msg"], source) for item in found)) from None


def _no_json(source: Source) -> list[Problem]:
    """Values that TOML has and JSON has not, and nesting that nothing needs. Walks without recursion."""
    problems: list[Problem] = []
    todo: list[tuple[Path, Any]] = [((), source.raw)]
    while todo:
        path, value = todo.pop()
        if len(path) > DEPTH_MAX:
            return [source.problem(path[:1], f"nested over {DEPTH_MAX} deep", "less", "take the nesting apart")]
        if isinstance(value, dict):
            todo += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            todo += [((*path, index), item) for index, item in enumerate(value)]
        elif (was := _odd(value)) is not None:
            problems.append(
                source.problem(
                    path, f"{_key(path)} is {shown(value)}, {was}", f"a JSON value ({WRITTEN})", "write it as a text"
                )
            )
    return problems


def _odd(value: Any) -> str | None:
    """Why a value of TOML cannot be sent as JSON, or to a program; None when it can."""
    if isinstance(value, datetime.date | datetime.time):
        return "a date or time"
    if isinstance(value, float) and not math.isfinite(value):
        return "no number that JSON has"
    if isinstance(value, int) and abs(value) >= INTEGER_END:
        return "over 64 bits"
    return "with characters that no program takes" if isinstance(value, str) and not is_text(value) else None


def _problem(kind: str, loc: Sequence[str | int], message: str, source: Source) -> Problem:
    path = tuple(part for part in loc if part != "[key]")
    if kind == "extra_forbidden":
        return _unknown_key(path, source)
    if kind == "missing":
        return source.problem(path[:-1], f"{path[-1]} is missing", f"{path[-1]} ({WRITTEN})", f"add {_example(path)}")
    expected = message.removeprefix("Value error, ").removeprefix("Input should be ").removeprefix("a valid ")
    if loc[-1:] == ("[key]",):
        what = f"{shown(path[-1])} is no name of an outcome"
    else:
        what = f"{_key(path)} is {source.shown(path)}"
    return source.problem(path, what, f"{expected} ({WRITTEN})", f"correct {_key(path)}")


def _unknown_key(path: Path, source: Source) -> Problem:
    key = str(path[-1])
    model = _model_at(path[:-1])
    known = [_KEYS_OF.get(name, name) for name in model.model_fields]
    if issubclass(model, Section):
        section = ".".join(map(str, path[:-1]))
        verbs = [verb.partition(".")[2] for verb in VERBS if verb.startswith(f"{path[-2]}.")]
        policy = [name for name in known if name not in verbs]
        return source.problem(
            path,
            f"{section} has no verb and no key {shown(key)}",
            f"one of the verbs {', '.join(verbs)} or the keys {', '.join(policy)} ({WRITTEN})",
            did_you_mean(key, known, f"take {key} out"),
        )
    return source.problem(
        path,
        f"unknown key {shown(key)}",
        f"one of {', '.join(known)} ({WRITTEN})",
        did_you_mean(key, known, "take it out"),
    )


def _model_at(path: Path) -> type[BaseModel]:
    """The model of the table at `path`, which exists."""
    model: type[BaseModel] = Profile
    rest = list(path)
    while rest:
        annotation = model.model_fields[str(rest.pop(0))].annotation
        if get_origin(annotation) is dict:
            rest.pop(0)  # the name of a caller or a route
        model = next(option for option in (annotation, *get_args(annotation)) if _is_model(option))
    return model


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _key(path: Path) -> str:
    """The key itself, and of a list's element which one."""
    return (
        f"{_key(path[:-1])}[{path[-1]}]"
        if path and isinstance(path[-1], int)
        else str(path[-1] if path else "the file")
    )


def _example(path: Path) -> str:
    return "version = 1" if path == ("version",) else str(path[-1])
