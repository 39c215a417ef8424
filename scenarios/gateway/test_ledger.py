"""What is written down? One row for each attempt that a door admitted, and nowhere a secret (GW-09)."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick import World, scenario
from lasttick.laws.judges.secrets import Searcher, Secret, written
from lasttick_fakes.model import Call

from .steps_calls import A_1, ABSENT, LOOKUP, ORG, SHOP, body_of, credentials_of, open_shop, until_asked, watched

MIB = 1024 * 1024
CANARY = "canary+that/sings=in~every:place"
"""No secret of anybody: whatever hides it hides too much, and a search that does not find it finds nothing."""
API_KEY = "key+of/the=third~party:0123456789"
COLUMNS = ("sub", "run_id", "tool_name", "action", "input")
"""Where a row has text of the caller's."""


@scenario("GW-09")
@pytest.mark.parametrize("door", ["internal", "runner"])
async def test_every_attempt_leaves_one_row(world: World, door: str) -> None:
    """Done, refused by a check, refused by the third party, or not there: each attempt is one row with its caller, its
    call and what came of it. What no door admitted, or nobody could read, leaves none."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    headers = credentials_of(gateway, door, ORG)
    for run_id, pair, order_id, outcome, requests in (
        (run.id, LOOKUP, "A-1", (200, "OK"), 1),
        (run.id, LOOKUP, "A-1", (200, "OK"), 1),
        (run.id, LOOKUP, "A-2", (502, "UPSTREAM_REJECTED"), 1),
        (run.id, "shop:refund", "A-1", (403, "NOT_IN_MANIFEST"), 0),
        (ABSENT, LOOKUP, "A-1", (404, "RUN_NOT_FOUND"), 0),
    ):
        body = body_of(run_id, pair, input={"order_id": order_id})
        call = await watched(gateway, gateway.execute(headers, body))
        assert len(call.rows) == 1, call.rows
        row = call.rows[0]
        assert (row["status"], row["outcome"], len(call.seen)) == (*outcome, requests), row
        assert call.reply.http_status == outcome[0]
        assert (row["org_id"], row["door"], row["run_id"]) == (ORG, door, run_id)
        assert (f"{row['tool_name']}:{row['action']}", json.loads(row["input"])) == (pair, {"order_id": order_id})
        assert row["opened_at"] <= row["closed_at"]
    json_type = {"content-type": "application/json"}
    for headers_of, body_sent, status in (
        ({}, body_of(run.id), 401),
        ({"x-agent-secret": "wrong"}, body_of(run.id), 401),
        ({**credentials_of(gateway, "runner", ORG), **json_type}, b"{", 400),
        (headers, body_of(7), 400),
        ({**headers, **json_type}, json.dumps(body_of(run.id, padding="x" * MIB)).encode(), 413),
    ):
        call = await watched(gateway, gateway.execute(headers_of, body_sent))
        assert (call.reply.http_status, call.rows, call.seen) == (status, [], []), call.reply.body
    await run.end()


@scenario("GW-09")
async def test_the_row_is_there_before_the_executor_is_done(world: World) -> None:
    """While the third party takes its time there is one open row; with its answer the same row is closed. Several calls
    at once have a row each."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    delay_s = 4 * world.tick_s
    await gateway.third_party.trouble("slow", s=delay_s)
    calls = [world.start(run.call(LOOKUP, A_1)) for _ in range(3)]
    await until_asked(world, gateway, len(calls))
    rows = await gateway.ledger(ORG)
    assert [row["opened_at"] is not None for row in rows] == [True] * len(calls)
    assert [(row["closed_at"], row["status"], row["outcome"]) for row in rows] == [(None, None, None)] * len(calls)
    for call in calls:
        assert (await call).ok
    closed = await gateway.ledger(ORG)
    assert [row["seq"] for row in closed] == [row["seq"] for row in rows]
    assert [(row["status"], row["outcome"]) for row in closed] == [(200, "OK")] * len(calls)
    assert all(row["closed_at"] > row["opened_at"] for row in closed)
    await run.end()


@scenario("GW-09", needs=("kill-process",))
async def test_kill_9_in_the_middle_of_a_call_leaves_one_row_that_says_so(world: World) -> None:
    """The platform dies of SIGKILL while the third party works. Started again, it has one row of that call, closed as
    interrupted; the run is over, and the third party is not asked a second time."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    await gateway.third_party.trouble("slow", s=3600.0)
    call = world.start(run.call(LOOKUP, A_1))
    await until_asked(world, gateway, 1)
    await gateway.kill("platform")
    with pytest.raises(httpx.TransportError):
        await call
    await run.broken_off()
    await gateway.restart("platform")
    (row,) = await gateway.ledger(ORG)
    assert (row["status"], row["outcome"]) == (None, "INTERRUPTED")
    assert row["closed_at"] > row["opened_at"]
    assert (await gateway.run(run.id))["state"] == "finished"
    assert len(await gateway.third_party.log()) == 1


# -- no secret ---------------------------------------------------------------------------------------------------------


@scenario("GW-09")
async def test_no_secret_is_written_down_wherever_a_caller_puts_it(world: World) -> None:
    """A caller that has got hold of a secret sends it in every part of a call that is written down, plain, in base64,
    in hex, percent-encoded and JSON-escaped. It stands in no row, answer, event, log or file. A canary that is nobody's
    secret goes the same ways, and is found at the end of each."""
    with logs() as said:
        gateway = await open_shop(world)
        await gateway.org(ORG, **SHOP, credentials={"order_lookup": {"api_key": API_KEY}})
        run = await gateway.open_run(ORG, skill="all")
        (await watched(gateway, run.call(LOOKUP, A_1))).done()
        secrets = {
            "agent secret": gateway.secrets.agent_secret,
            "JWT key": gateway.secrets.jwt_key,
            "admin token": gateway.secrets.admin_token,
            "chat token": gateway.chat_token(ORG),
            "credential": API_KEY,
            "runner's token": gateway.token(ORG),
        }
        answers = [await _planted(gateway, text) for value in secrets.values() for text in written(value).values()]
        rows = await gateway.ledger(ORG)
        places = {
            **{f"the ledger's {column}": [_opened(row)[column] for row in rows] for column in COLUMNS},
            "an answer": [{"headers": reply.headers, "body": reply.body} for reply in answers],
            "the trace": [[event.actor, event.kind, event.ref, event.data] for event in world.trace.events],
            "a log": list(said),
            "a file": list(_files(world.path)),
        }
        assert len(rows) == 1 + len(answers)
        search = Searcher([Secret(name, value) for name, value in secrets.items()])
        hits = {
            f"{hit.secret.name} in {place}, {hit.encoding}": None
            for place, documents in places.items()
            for document in documents
            for hit in search.hits(document)
        }
        assert not hits, "\n".join(hits)
        for text in written(CANARY).values():
            await _planted(gateway, text)
        _found_in_every_column((await gateway.ledger(ORG))[len(rows) :])
        if world.mode == "virtual":
            events = [[event.ref, event.data] for event in world.trace.events]
            assert _encodings(events) == list(written(CANARY)), "the search of the trace does not find the canary"
            references = [event.ref for event in world.trace.events]
            assert _encodings(references) == list(written(CANARY)), "nor that of its references"
        await run.end()


@scenario("GW-09")
async def test_no_secret_stands_on_a_command_line(world: World) -> None:
    """In a whole turn with a tool call no part's arguments, nothing that the model is asked, no wire, answer or log
    holds a secret. What a person says stands in all of them, or they were not searched."""
    prompt = f"Where is my order, {CANARY}?"
    with logs() as said:
        gateway = await world.gateway(flag=True)
        await gateway.third_party.put_order("A-1", status="shipped")
        await gateway.model.script(
            "my order", Call.one("order_lookup__lookup", order_id="A-1"), f"{CANARY}: {{result}}"
        )
        await gateway.org(ORG, **SHOP, credentials={"order_lookup": {"api_key": API_KEY}})
        answer = await gateway.chat(ORG, prompt, skill="all")
        assert "shipped" in answer.text
        (turn,) = await gateway.hermes_turns()
        (seen,) = await gateway.third_party.log()
        assert seen.header("x-api-key") == API_KEY
        secrets = [
            Secret("agent secret", gateway.secrets.agent_secret),
            Secret("JWT key", gateway.secrets.jwt_key),
            Secret("admin token", gateway.secrets.admin_token),
            Secret("the agent's platform token", gateway.secrets.platform_token),
            Secret("chat token", gateway.chat_token(ORG)),
            Secret("credential", API_KEY),
        ]
        heard = {
            "the program's arguments": list(turn.argv),
            "the wire": await gateway.wires(),
            "what the model was asked": [asked.body for asked in await gateway.model.requests()],
            "the answer": [answer.body],
        }
        silent = {
            "its children's arguments": [list(child.argv) for child in turn.children],
            "a lasting part's arguments": [_command_line(pid) for pid in gateway.pids.values()],
            "the third party's body": seen.body,
            "a row": [_opened(row) for row in await gateway.ledger(ORG)],
            "a log": list(said),
            "a file": dict(_files(world.path)),
        }
        assert len(turn.children) == 1
        for place, document in {**heard, **silent}.items():
            assert [hit.secret.name for hit in Searcher(secrets).hits(document)] == [], place
        for place, document in heard.items():
            assert "plain" in _encodings(document), f"the search of {place} does not find the canary"


async def _planted(gateway: Any, text: str) -> Any:
    """A call by the runner door, which says `text` in everything of it that is written down."""
    headers = credentials_of(gateway, "runner", ORG, sub=text)
    told = {"plain": text, "deep": [{text: 1}], "bearer": f"Bearer {text}"}
    return await gateway.execute(headers, body_of(text, toolName=text, action=text, input=told))


def _opened(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its JSON text read, so that what was escaped once by a column is not taken for escaped twice."""
    try:
        return {**row, "input": json.loads(row["input"])}
    except ValueError:
        return dict(row)


def _found_in_every_column(rows: Sequence[Mapping[str, Any]]) -> None:
    for column in COLUMNS:
        found = _encodings([_opened(row)[column] for row in rows])
        assert found == list(written(CANARY)), f"the search of {column} finds the canary only {', '.join(found)}"


def _encodings(documents: Sequence[Any]) -> list[str]:
    """In which encodings the canary is found, in one document or another."""
    search = Searcher([Secret("canary", CANARY)])
    found = [hit.encoding for document in documents for hit in search.hits(document)]
    return [encoding for encoding in written(CANARY) if encoding in found]


@contextmanager
def logs() -> Iterator[list[str]]:
    """What is logged in this process meanwhile, errors with their tracebacks."""
    said: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(logging.Formatter().format(record))

    heard = Heard(logging.DEBUG)
    logging.getLogger().addHandler(heard)
    try:
        yield said
    finally:
        logging.getLogger().removeHandler(heard)


KEEPS_SECRETS = re.compile(r"gateway\.sqlite.*|.*\.tap\.jsonl")
"""The store of the documents, credentials included, and what the harness itself writes of environments."""


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """The other files that the parts wrote: logs, configuration."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not KEEPS_SECRETS.fullmatch(path.name):
            yield path.relative_to(folder).as_posix(), path.read_bytes().decode("utf-8", "replace")


def _command_line(pid: int) -> str:
    """A running process's arguments as anybody on the machine may read them; nothing where there is no /proc."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
