"""One row for each attempt, there before the executor and closed after it, without a secret (GW-09)."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from .platform_rig import SECRET, WRITE, Rig, with_platform


@pytest.mark.parametrize(
    "planted",
    [SECRET, "admin-token-0123456789", "runner-key-0123456789-0123456789-abc", "chat-token-of-org-a", "key-canary-123"],
)
def test_no_secret_in_any_row(planted: str) -> None:
    """GW-09: whatever a model sends, in any member."""

    async def body(rig: Rig) -> None:
        rig.org(credentials={"order_lookup": {"api_key": "key-canary-123"}})
        run_id = rig.run()
        await rig.execute(run_id, input={"note": [f"printenv says {planted}"], planted: 1})
        await rig.execute(planted, toolName=planted, action=f"x{planted}x", input={"hex": planted.encode().hex()})
        await rig.execute(run_id, headers=rig.runner(sub=planted))
        text = json.dumps(rig.rows())
        assert planted not in text
        assert planted.encode().hex() not in text
        assert len(rig.rows()) == 3

    with_platform(body)


def test_the_callers_own_token_is_in_no_row() -> None:
    async def body(rig: Rig) -> None:
        token = rig.token()
        await rig.execute(rig.run(), headers={"authorization": f"Bearer {token}"}, input={"seen": token})
        assert token not in json.dumps(rig.rows())
        assert rig.rows()[0]["input"] == "[redacted]"

    with_platform(body)


def test_the_row_is_there_before_the_third_party_is_asked() -> None:
    async def body(rig: Rig) -> None:
        during: list[Any] = []

        def third(_: Any) -> httpx.Response:
            during.extend((row["outcome"], row["closed_at"]) for row in rig.rows())
            return httpx.Response(500)

        rig.strangers.third = third
        answer = await rig.execute(rig.run())
        assert (answer.status, answer.code) == (502, "UPSTREAM_ERROR")
        assert during == [(None, None)]
        assert [(row["status"], row["outcome"]) for row in rig.rows()] == [(502, "UPSTREAM_ERROR")]

    with_platform(body)


def test_a_slow_third_party_is_504_and_its_row_says_when() -> None:
    async def body(rig: Rig) -> None:
        rig.strangers.third = lambda _: asyncio.sleep(3_600)
        answer = await rig.execute(rig.run())
        assert (answer.status, answer.code) == (504, "UPSTREAM_TIMEOUT")
        (row,) = rig.rows()
        assert (row["opened_at"][-14:], row["closed_at"][-14:]) == ("00:00:00+00:00", "00:00:20+00:00")

    with_platform(body)


def test_a_call_that_is_cut_off_is_interrupted() -> None:
    async def body(rig: Rig) -> None:
        rig.strangers.third = lambda _: asyncio.sleep(3_600)
        task = asyncio.ensure_future(rig.execute(rig.run()))
        await asyncio.sleep(1)
        assert rig.outcomes() == [None]
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert rig.outcomes() == ["INTERRUPTED"]

    with_platform(body)


def test_without_a_row_nothing_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(rig: Rig) -> None:
        def broken(*_: Any) -> int:
            raise sa.exc.OperationalError("INSERT", {"secret": "parameters"}, Exception("disk full"))

        run_id = rig.run()
        monkeypatch.setattr(rig.platform.ledger, "_insert", broken)
        answer = await rig.execute(run_id)
        assert (answer.status, answer.code) == (503, "STORE_UNAVAILABLE")
        assert rig.third_asked == []

    with_platform(body)


def test_a_row_that_can_not_be_closed_hides_no_result(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(rig: Rig) -> None:
        def broken(*_: Any) -> None:
            raise sa.exc.OperationalError("UPDATE", {"secret": "parameters"}, Exception("disk full"))

        monkeypatch.setattr(rig.platform.ledger, "closed", broken)
        assert (await rig.execute(rig.run())).status == 200
        assert rig.outcomes() == [None]
        assert "stays open for now: Exception: disk full" in caplog.text
        assert "parameters" not in caplog.text

    with_platform(body)


def test_with_the_ledger_off_there_are_no_rows() -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        assert (await rig.execute(run_id)).status == 200
        assert (await rig.execute(run_id, WRITE)).status == 403
        assert rig.rows() == []

    with_platform(body, ledger=False)
