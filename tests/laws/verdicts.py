"""What does a law say of a target in memory? In virtual time, without pytest in between."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.laws.deployment import Deployment
from lasttick.laws.load import loads
from lasttick.laws.reference import Law
from lasttick.laws.target import Target
from lasttick.laws.verdict import LawFailed, NotApplicable, NotShown

ROOT = Path(__file__).parents[2]
WORDS: dict[type[Exception], str] = {LawFailed: "fail", NotShown: "inconclusive", NotApplicable: "not applicable"}


@dataclass(frozen=True)
class End:
    """`word`: pass, fail, inconclusive or not applicable."""

    word: str
    reason: str
    cases: tuple[str, ...]


def law_function(law_id: str) -> Law:
    """`tools/no-secret-out` -> the law's function."""
    group, _, name = law_id.partition("/")
    sys.path.insert(0, str(ROOT))
    try:
        module = importlib.import_module(f"scenarios.laws.test_{group}")
    finally:
        sys.path.remove(str(ROOT))
    return getattr(module, f"test_{name.replace('-', '_')}")  # type: ignore[no-any-return]


def judged(law_id: str, app: Any, profile: str, environ: Mapping[str, str]) -> End:
    """One law on an ASGI application."""
    law = law_function(law_id)

    async def main(loop: VirtualLoop) -> End:
        loaded = loads(profile, "lasttick.toml", environ)
        transport = httpx.ASGITransport(app)
        deployment = Deployment(loaded.profile, run="t1", secrets=loaded.secrets, transport=transport)
        target = Target(deployment, law_id)
        word, reason = "pass", ""
        try:
            await law(target)
        except tuple(WORDS) as error:
            word, reason = WORDS[type(error)], str(error)
        finally:
            await target.close()
        return End(word, reason, tuple(target.cases))

    return run_virtual(main)
