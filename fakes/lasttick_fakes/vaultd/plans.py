"""What does a plan say? Whether it is well-formed, what each step sends, and which step comes next.

Pure. Source: contract vaultclaw 13 and 19 (members of plans, steps, bindings, branches), 9 (PLAN_* codes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lasttick_fakes.http_json import shown
from lasttick_fakes.vaultd.connectors import Connector
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.validate import Problem

TYPE = "connector.execution.plan.v1"
_TEXT_OUTPUT = re.compile(r"\{\{step_output:([^:}]+):([^}]*)\}\}")
_MISSING = object()


def check_plan(plan: Any, connectors: Mapping[str, Connector]) -> list[Problem]:
    """All that is wrong with its shape; empty when it may run."""
    if not isinstance(plan, dict):
        return [_problem("", "PLAN_INVALID", "an object", plan)]
    problems = []
    if plan.get("type") != TYPE:
        problems.append(_problem("/type", "PLAN_INVALID", TYPE, plan.get("type")))
    steps = plan.get("steps")
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        return [*problems, _problem("/steps", "PLAN_INVALID", "an array of steps that is not empty", steps)]
    ids = [step.get("step_id") for step in steps]
    start = plan.get("start_step_id")
    if start is not None and start not in ids:
        problems.append(_problem("/start_step_id", "PLAN_INVALID", "the id of a step", start))
    for index, step in enumerate(steps):
        problems += _check_step(f"/steps/{index}", step, ids, connectors)
    return problems


def steps_by_id(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["step_id"]: step for step in plan["steps"]}


def start_of(plan: Mapping[str, Any]) -> str:
    return plan.get("start_step_id") or plan["steps"][0]["step_id"]


def resolve(step: Mapping[str, Any], plan_input: Any, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the step sends: its base, its bindings, and the outputs that its texts name. Raises VaultError."""
    request: dict[str, Any] = _copy(step.get("request_base") or {})
    for binding in _listed(step, "request_bindings"):
        value = _value(binding["ref"], plan_input, outputs)
        if value is _MISSING:
            raise _failed(step, "PLAN_BINDING_SOURCE_MISSING", f"nothing is at {shown(binding['ref'])}")
        _put(request, binding["path"], _copy(value), step)
    return {name: _texts(value, outputs, step) for name, value in request.items()}


def next_step(step: Mapping[str, Any], outputs: Mapping[str, Any]) -> str | None:
    """The step after this one, None at the end. Raises VaultError (PLAN_TRANSITION_*)."""
    branches = _listed(step, "success_branches")
    met = [branch["next_step_id"] for branch in branches if _holds(branch.get("when"), outputs)]
    if len(met) > 1:
        raise _failed(step, "PLAN_TRANSITION_AMBIGUOUS", f"{len(met)} branches hold: {shown(met)}")
    default = step.get("default_success_next_step_id") or None
    if branches and not met and default is None:
        raise _failed(step, "PLAN_TRANSITION_NO_MATCH", "no branch holds and there is no default")
    return met[0] if met else default


def _check_step(
    path: str, step: Mapping[str, Any], ids: list[Any], known: Mapping[str, Connector]
) -> Iterator[Problem]:
    step_id = step.get("step_id")
    if not isinstance(step_id, str) or not step_id.strip() or ids.count(step_id) > 1:
        yield _problem(f"{path}/step_id", "PLAN_STEP_INVALID", "an id that no other step has", step_id)
    connector_id, verb = step.get("connector_id"), step.get("verb")
    connector = known.get(connector_id) if isinstance(connector_id, str) else None
    if connector is None:
        yield _problem(f"{path}/connector_id", "PLAN_STEP_INVALID", "a connector of this vault", connector_id)
    elif not isinstance(verb, str) or not connector.has(verb):
        yield _problem(f"{path}/verb", "PLAN_STEP_INVALID", f"a verb of {connector_id}", verb)
    if not isinstance(step.get("request_base", {}), dict):
        yield _problem(f"{path}/request_base", "PLAN_STEP_INVALID", "an object", step["request_base"])
    for name in ("request_bindings", "success_branches"):
        if not isinstance(step.get(name), list | None):
            yield _problem(f"{path}/{name}", "PLAN_STEP_INVALID", "an array", step[name])
    for index, binding in enumerate(_listed(step, "request_bindings")):
        well = isinstance(binding, dict) and isinstance(binding.get("ref"), dict)
        if not well or not isinstance(binding.get("path"), str) or not binding["path"].startswith("/"):
            yield _problem(f"{path}/request_bindings/{index}", "PLAN_BINDING_INVALID", "{path: /..., ref: {}}", binding)
    follow = [("default_success_next_step_id", step.get("default_success_next_step_id") or None)]
    for index, branch in enumerate(_listed(step, "success_branches")):
        follow.append((f"success_branches/{index}", branch.get("next_step_id", "") if isinstance(branch, dict) else ""))
    for name, target in follow:
        if target is not None and target not in ids:
            yield _problem(f"{path}/{name}", "PLAN_STEP_INVALID", "the id of a step", target)


def _listed(step: Mapping[str, Any], name: str) -> list[Any]:
    """A list of the step; [] without one."""
    value = step.get(name)
    return value if isinstance(value, list) else []


def _value(ref: Mapping[str, Any], plan_input: Any, outputs: Mapping[str, Any]) -> Any:
    source = str(ref.get("source") or "literal").strip()
    if source in ("literal", "value", "const"):
        return ref.get("value", _MISSING)
    if source == "plan_input":
        return _get(plan_input, str(ref.get("path", "")))
    if source == "step_output":
        return _get(outputs.get(str(ref.get("step_id")), _MISSING), str(ref.get("path", "")))
    return _MISSING


def _holds(when: Any, outputs: Mapping[str, Any]) -> bool:
    """`and`, `or`, `not` over `args`; `exists` and `eq` over `ref`. Anything else does not hold."""
    if not isinstance(when, dict):
        return False
    args = when.get("args") if isinstance(when.get("args"), list) else []
    ref = when.get("ref") if isinstance(when.get("ref"), dict) else {}
    found = _value(ref or {}, None, outputs)
    rules = {
        "and": lambda: all(_holds(one, outputs) for one in args or []),
        "or": lambda: any(_holds(one, outputs) for one in args or []),
        "not": lambda: not any(_holds(one, outputs) for one in args or []),
        "exists": lambda: found is not _MISSING and found is not None and found != "",
        "eq": lambda: found == when.get("value"),
    }
    rule = rules.get(str(when.get("op")))
    return rule is not None and rule()


def _get(value: Any, pointer: str) -> Any:
    for part in _parts(pointer):
        if not isinstance(value, dict) or part not in value:
            return _MISSING
        value = value[part]
    return value


def _put(target: dict[str, Any], pointer: str, value: Any, step: Mapping[str, Any]) -> None:
    *way, last = _parts(pointer)
    for part in way:
        inner = target.setdefault(part, {})
        if not isinstance(inner, dict):
            raise _failed(step, "PLAN_BINDING_INVALID", f"{pointer} leads through {shown(inner)}")
        target = inner
    target[last] = value


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _texts(value: Any, outputs: Mapping[str, Any], step: Mapping[str, Any]) -> Any:
    """Texts may name outputs: `{{step_output:STEP:/path}}`."""

    def named(found: re.Match[str]) -> str:
        value = _get(outputs.get(found[1], _MISSING), found[2])
        if value is _MISSING:
            raise _failed(step, "PLAN_BINDING_SOURCE_MISSING", f"nothing is at {shown(found[0])}")
        return str(value)

    if isinstance(value, str):
        return _TEXT_OUTPUT.sub(named, value)
    if isinstance(value, list):
        return [_texts(one, outputs, step) for one in value]
    return {key: _texts(one, outputs, step) for key, one in value.items()} if isinstance(value, dict) else value


def _copy(value: Any) -> Any:
    if isinstance(value, list):
        return [_copy(one) for one in value]
    return {key: _copy(one) for key, one in value.items()} if isinstance(value, dict) else value


def _failed(step: Mapping[str, Any], code: str, what: str) -> VaultError:
    step_id = step["step_id"]
    return VaultError(
        422, code, f"Step {step_id}: {what}; expected a plan that can go on; correct the plan.", {"step_id": step_id}
    )


def _problem(path: str, code: str, expected: str, actual: Any) -> Problem:
    where = path or "the plan"
    return Problem(path, code, f"{where} is {shown(actual)}; expected {expected}; correct it.", expected, shown(actual))
