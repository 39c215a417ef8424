"""Does the gateway's benchmark run from end to end, and would it see a wrong answer? Never how fast."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lasttick import mutants
from lasttick.bench import gateway, gateway_served, rounds
from lasttick.bench.gateway import Slice, Subject, figures, played, settled
from lasttick.bench.rounds import Effort
from lasttick.cli import execute
from lasttick.reference.gateway.config import DATABASE_FILE
from lasttick.targets import children
from lasttick.targets.gateway import measured
from lasttick.targets.nursery import nursery

TINY = Effort(rounds_min=1, rounds_max=1, slice_s=0.004)
RUNS = {f"org-{number}": f"run-{number}" for number in range(gateway.ORGS)}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "CALLERS", 9)
    monkeypatch.setattr(gateway, "CALLS", 2)
    monkeypatch.setattr(children, "by_command", lambda *words: nursery().begin(*words))


def by_id(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in told["figures"]}


def test_the_report() -> None:
    heard: list[str] = []
    told = gateway.measure(TINY, heard.append)
    assert heard == ["gateway"]
    assert (told["version"], told["benchmark"]) == (1, "gateway")
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert (told["conditions"]["callers"], told["conditions"]["calls"]) == (9, 2)
    assert [(one["id"], one["unit"], one["target"]) for one in told["figures"]] == [
        ("gateway/p50/ledger-off", "us", "ratio at most 3"),
        ("gateway/p50/ledger-on", "us", None),
        ("gateway/p50/served", "us", None),
        ("gateway/wrong", "answers", "max at most 0"),
    ]
    wrong = by_id(told)["gateway/wrong"]
    assert (wrong["max"], wrong["ok"], wrong["n"]) == (0, True, 5 * 4)
    assert all(by_id(told)[f"gateway/p50/{name}"]["ratio"] > 0 for name in ("ledger-off", "ledger-on", "served"))


def test_a_platform_that_serves_foreign_runs_is_seen() -> None:
    with mutants.find("gateway/lookup-by-id-only").applied():
        assert by_id(gateway.measure(TINY))["gateway/wrong"]["ok"] is False


async def _played(app: Any, *, strict: bool = False) -> Slice:
    async with measured.served(app) as (host, port):
        return await played(Subject(host, port, RUNS, strict=strict))


def test_the_floor_answers_as_the_platform_does() -> None:
    assert asyncio.run(_played(measured.bare)).wrong == 0


def test_a_foreign_run_that_is_served_is_wrong() -> None:
    foreign = sum((number + turn) % gateway.FOREIGN_EVERY == 0 for number in range(9) for turn in range(2))
    assert foreign == 3
    assert asyncio.run(_played(measured.bare, strict=True)).wrong == foreign


@pytest.mark.parametrize("answer", [b'{"ok":true,"result":{}}', b'{"code":"RUN_NOT_FOUND"}'])
def test_somebody_elses_answer_is_wrong(answer: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    assert asyncio.run(_played(app)).wrong == 9 * 2


@pytest.mark.parametrize("ledger", [True, False])
def test_rows_are_written_with_the_ledger_on_only(ledger: bool, tmp_path: Path) -> None:
    async def body() -> int:
        async with measured.platform(tmp_path, sorted(RUNS), ledger=ledger) as platform:
            async with measured.served(platform.app) as (host, port):
                assert (await played(Subject(host, port, platform.runs, strict=True))).wrong == 0
            with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as rows:
                return int(rows.execute("SELECT count(*) FROM tool_call").fetchone()[0])

    assert asyncio.run(body()) == (9 * 2 if ledger else 0)


def test_the_ledger_is_what_the_two_platforms_differ_in(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, bool] = {}
    real = measured.platform

    def platform(folder: Path, org_ids: list[str], *, ledger: bool) -> Any:
        asked[folder.name] = ledger
        return real(folder, org_ids, ledger=ledger)

    monkeypatch.setattr(measured, "platform", platform)
    gateway.measure(TINY)
    assert asked == {"off": False, "on": True}


def test_one_wrong_answer_in_any_round_misses_the_target() -> None:
    right, wrong = Slice(2.0, 0), Slice(2.0, 1)
    alike = {name: [right, right] for name in ("on", "served", "direct")}
    slow, fast, served, answers = figures({"floor": [Slice(1.0, 0)] * 2, "off": [right, wrong], **alike})
    assert (served.ratio, served.ok) == (1.0, None)
    assert (slow.ratio, slow.ok, fast.ratio) == (2.0, True, 2.0)
    assert (answers.max, answers.ok) == (1, False)


def test_a_platform_above_the_bound_misses_its_target() -> None:
    slices = {name: [Slice(1.0, 0)] for name in ("floor", "served", "direct")}
    assert figures({**slices, "off": [Slice(3.1, 0)], "on": [Slice(9.0, 0)]})[0].ok is False


def test_it_is_settled_when_all_ratios_are() -> None:
    calm, wild = [Slice(2.0, 0)] * 6, [Slice(4.0**number, 0) for number in range(6)]
    floors = {name: [Slice(1.0, 0)] * 6 for name in ("floor", "direct")}
    assert settled({**floors, "off": calm, "on": calm, "served": calm})
    for name in ("off", "on", "served"):
        assert not settled({**floors, "off": calm, "on": calm, "served": calm, name: wild})


ORGS = [f"org-{number}" for number in range(gateway.ORGS)]
SERVED: list[tuple[list[str], bool]] = [([], True), (["--mutant", "gateway/lookup-by-id-only"], False)]


@pytest.mark.parametrize(("more", "is_right"), SERVED, ids=["the reference", "a wrong version"])
def test_64_callers_of_a_served_gateway(
    more: list[str], is_right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is another's, and no foreign run is served; what would do so is seen."""
    monkeypatch.setattr(gateway, "CALLERS", 64)
    serve = gateway_served._serve
    wrong = lambda folder, name, *words: serve(folder, name, *words, *(more if name == "gateway" else []))  # noqa: E731
    monkeypatch.setattr(gateway_served, "_serve", wrong)
    orders = [gateway.order_id(number, turn) for number in range(64) for turn in range(2)]

    async def body() -> Slice:
        async with gateway_served.parts(tmp_path, ORGS, orders) as parts:
            return await played(Subject(*parts.gateway, parts.runs, True, right=gateway_served.result_of))

    foreign = sum((number + turn) % gateway.FOREIGN_EVERY == 0 for number in range(64) for turn in range(2))
    assert asyncio.run(body()).wrong == (0 if is_right else foreign)


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Effort] = []

    def measure(effort: Effort, told: Any) -> dict[str, Any]:
        asked.append(effort)
        return {"version": 1}

    monkeypatch.setattr(gateway, "measure", measure)
    assert execute(["bench", "gateway", "--quick", "--json"]) == 0
    assert execute(["bench", "gateway", "--json"]) == 0
    assert asked == [rounds.QUICK, rounds.FULL]
    assert json.loads(capsys.readouterr().out.partition("}")[0] + "}") == {"version": 1}
