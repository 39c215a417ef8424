"""How does Hypothesis run an async scenario so that the same seed gives the same examples everywhere?

Each example gets a fresh world. Hypothesis mines constants from whatever local modules are loaded, which would make the
examples depend on which tests ran before: while a scenario runs, it finds none. Source: contract engine, "pytest".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from lasttick.engine.chance import derive
from lasttick.engine.patches import replaced

EXAMPLES_MAX = 25


def is_property(function: Callable[..., Any]) -> bool:
    """Whether `@given` decorates the test."""
    return getattr(function, "is_hypothesis_test", False)


def explicit_examples(function: Callable[..., Any]) -> int:
    """How many `@example`s the test has: what process mode runs."""
    return len(getattr(function, "hypothesis_explicit_examples", ()))


def first_example(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The arguments of the `@example` that Hypothesis would play first; None when they are not named."""
    given = getattr(function, "hypothesis_explicit_examples", ())
    return dict(given[-1].kwargs) if given and not given[-1].args else None


def discards() -> tuple[type[BaseException], ...]:
    """What Hypothesis raises inside an example to give it up: a false `assume`, or a draw too many."""
    from hypothesis.errors import StopTest, UnsatisfiedAssumption

    return StopTest, UnsatisfiedAssumption


def prepare(
    function: Any,
    *,
    inner: Callable[..., None],
    seed: int,
    scenario_id: str,
    mode: str,
    examples_max: int | None,
    shrink: bool = True,
) -> None:
    """Set what a `@given` test runs (`inner`, once per example) and under which settings and seed.

    Without `shrink` the first failing example is the last: enough to know that there is one.
    """
    from hypothesis import HealthCheck, Phase, settings

    own = function._hypothesis_internal_use_settings
    chosen = own.max_examples if getattr(function, "_hypothesis_internal_settings_applied", False) else EXAMPLES_MAX
    phases = [Phase.explicit] if mode == "process" else [Phase.explicit, Phase.generate]
    if shrink and mode != "process":
        phases.append(Phase.shrink)
    function._hypothesis_internal_use_settings = settings(
        own,
        max_examples=min(chosen, examples_max) if examples_max else chosen,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=shrink,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    function._hypothesis_internal_use_seed = derive(seed, scenario_id, "examples")
    function.hypothesis.inner_test = inner


@contextmanager
def no_mined_constants() -> Iterator[None]:
    """While open, Hypothesis sees no constants of local modules."""
    providers: Any = import_module("hypothesis.internal.conjecture.providers")
    none = providers.SortedSet
    empty = providers.Constants(integers=none(), floats=none(key=providers.float_to_int), bytes=none(), strings=none())
    with replaced(providers, "_get_local_constants", lambda: empty):
        yield
