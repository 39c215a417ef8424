"""What is said of a target before any law is played: it does not answer, it is something else, it is too slow."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lasttick.laws.gate.beginning import begin, measure
from lasttick.laws.gate.errors import GateError, Unreachable
from lasttick.laws.gate.journal import journal_file
from lasttick.laws.gate.preflight import Seen, refuse_tolerance
from lasttick.laws.profiles.load import Loaded, loads

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
TOKEN = "lt-secret-of-alice"
PROFILE = """
version = 1
[target]
url = "{url}"
timeout_s = 1
[callers.alice]
headers = {{ Authorization = "Bearer ${{TOKEN}}" }}
[lease]
ttl_s = 4
renewed_by = ["use"]
acquire = {{ same = "lease.use" }}
use = {{ tool = "use", args = {{ device = "{{resource}}", mark = "{{mark}}" }} }}
[lease.holder]
tool = "holders"
each = "/body/held"
out = {{ resource = "/id", held = "/busy" }}
states = {{ held = [true], free = [false] }}
"""


def profile(url: str, **changes: str) -> Loaded:
    text = PROFILE.format(url=url)
    for old, new in changes.items():
        text = text.replace(old, new)
    return loads(text, "lasttick.toml", {"TOKEN": TOKEN})


async def served(answer: Answer, loaded: Callable[[str], Loaded], config: Path) -> Seen:
    """What the preflight sees of a server whose every request is answered by `answer`."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-len")
                    ),
                    0,
                )
                await answer(head + await reader.readexactly(length), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        return await measure(loaded(f"http://127.0.0.1:{port}/mcp"), config)
    finally:
        server.close()


def reply(status: str, body: bytes, kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


async def html(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b"<html><body>Welcome</body></html>", "text/html"))


async def hang(request: bytes, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def cut(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b'{"jsonrpc":')[:-4])
    writer.close()


async def redirect(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("307 Temporary Redirect", b"", more="location: http://example.org/mcp\r\n"))


async def refuse(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("401 Unauthorized", b'{"error": "who are you, Bearer ' + TOKEN.encode() + b'?"}'))


def mcp(delay_s: float = 0.0) -> Answer:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(delay_s)
        body = request.partition(b"\r\n\r\n")[2]
        said = json.loads(body) if body else {}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "tools": []}
        if said.get("method") == "tools/call":
            held = [{"id": "r1", "busy": False}, {"id": "r2", "busy": True}, {"id": "r3", "busy": False}]
            result = {"content": [], "structuredContent": {"held": held}}
        answered = json.dumps({"jsonrpc": "2.0", "id": said.get("id"), "result": result}).encode()
        writer.write(reply("200 OK", answered, more="mcp-session-id: s1\r\n"))

    return answer


def look(answer: Answer, tmp_path: Path, **changes: str) -> Seen:
    config = tmp_path / "lasttick.toml"
    began_s = time.monotonic()
    try:
        return asyncio.run(served(answer, lambda url: profile(url, **changes), config))
    finally:
        assert time.monotonic() - began_s < 4, "said in about the time-out"
        assert TOKEN not in (journal_file(config)).read_text()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (html, "answers, and it is not what the profile says: HTTP 200 <html>"),
        (redirect, "answers, and it is not what the profile says: HTTP 307 (location: http://example.org/mcp)"),
        (hang, "does not answer: "),
        (cut, "does not answer: "),
    ],
)
def test_what_is_no_target_is_exit_3_with_the_line(answer: Answer, said: str, tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as raised:
        look(answer, tmp_path)
    assert said in str(raised.value)
    assert "lasttick.toml:4 ([target] url)" in str(raised.value) or "lasttick.toml:3 ([target])" in str(raised.value)
    assert "\n  expected: " in str(raised.value)
    assert "\n  next: " in str(raised.value)
    assert raised.value.exit_code == 3


async def not_found(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("404 Not Found", b'{"detail":"Not Found"}'))


def test_a_path_that_is_missing_is_no_refusal(tmp_path: Path) -> None:
    """Also where the profile reads a 404 as a refusal, as a host agent's ended session is one."""
    rule = "version = 1\n[outcomes]\ndenied = [{ '/status' = 404 }]"
    with pytest.raises(Unreachable, match="often the path is missing"):
        look(not_found, tmp_path, **{"version = 1": rule})


def test_a_stranger_is_not_the_first_to_ask(tmp_path: Path) -> None:
    stranger = '[callers.sam]\nheaders = { Authorization = "Bearer none" }\nmay = []\n[callers.alice]'

    async def doorman(request: bytes, writer: asyncio.StreamWriter) -> None:
        await (refuse if b"Bearer none" in request else mcp())(request, writer)

    assert look(doorman, tmp_path, **{"[callers.alice]": stranger}).resources == 2


def test_nobody_listens(tmp_path: Path, unused_tcp_port_of_this_test: int) -> None:
    loaded = profile(f"http://127.0.0.1:{unused_tcp_port_of_this_test}/mcp")
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:\d+/mcp does not answer: .*refused"):
        asyncio.run(measure(loaded, tmp_path / "lasttick.toml"))


@pytest.fixture
def unused_tcp_port_of_this_test() -> int:
    import socket

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def test_credentials_that_are_refused_are_a_mistake_of_the_profile(tmp_path: Path) -> None:
    with pytest.raises(GateError) as raised:
        look(refuse, tmp_path)
    assert raised.value.exit_code == 2
    assert str(raised.value).startswith("lasttick.toml:6 ([callers.alice]): the target refuses alice: HTTP 401")
    assert TOKEN not in str(raised.value)
    assert "[TOKEN]" in str(raised.value)


def test_a_command_that_ends_at_once(tmp_path: Path) -> None:
    loaded = profile("x", **{'url = "x"': 'command = ["false"]'})
    with pytest.raises(Unreachable, match="false does not answer"):
        asyncio.run(measure(loaded, tmp_path / "lasttick.toml"))


def test_a_target_that_answers_tells_its_round_trip_and_what_is_free(tmp_path: Path) -> None:
    seen = look(mcp(), tmp_path)
    assert seen.round_trip_s is not None
    assert 0 < seen.round_trip_s < 0.08
    assert seen.resources == 2
    assert look(mcp(), tmp_path, **{"ttl_s = 4": 'ttl_s = 4\nresources = ["r1", "r3", "r4"]'}).resources == 3
    assert look(mcp(), tmp_path, **{'device = "{resource}", ': ""}).resources == 1, "the target chooses"


def test_a_tolerance_below_three_round_trips_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        GateError, match=r"lasttick\.toml:8 \(\[lease\] tolerance_s\): tolerance_s is 0.25 and the median"
    ) as raised:
        look(mcp(0.1), tmp_path)
    assert "next: set tolerance_s = 0.3" in str(raised.value)
    assert look(mcp(0.1), tmp_path, **{"ttl_s = 4": "ttl_s = 4\ntolerance_s = 0.45"}).round_trip_s is not None


@pytest.mark.parametrize(("round_trip_s", "refused"), [(None, False), (0.08, False), (0.0834, True)])
def test_the_bound_of_the_tolerance(round_trip_s: float | None, refused: bool) -> None:
    loaded = profile("http://127.0.0.1:1/mcp")
    if refused:
        with pytest.raises(GateError, match=r"tolerance_s = 0\.26"):
            refuse_tolerance(loaded, Seen(round_trip_s))
    else:
        refuse_tolerance(loaded, Seen(round_trip_s))


def test_one_check_at_a_time(tmp_path: Path) -> None:
    config = tmp_path / "lasttick.toml"
    loaded = profile("x", **{'url = "x"': 'command = ["false"]'})

    from filelock import FileLock

    with (
        FileLock(journal_file(config).with_name("lasttick.lock")),
        pytest.raises(GateError, match="is running already"),
    ):
        begin(loaded, config)
    with pytest.raises(Unreachable):
        begin(loaded, config)
    with pytest.raises(Unreachable):
        begin(loaded, config)  # a check that failed has let go of the lock


@pytest.mark.parametrize(
    "command", ['"false", "--key=${TOKEN}"', '"${TOKEN}"', '"sh", "-c", "echo ${TOKEN} >&2; exit 1"']
)
def test_a_secret_in_the_command_is_told_to_nobody(command: str, tmp_path: Path) -> None:
    loaded = profile("x", **{'url = "x"': f"command = [{command}]"})
    config = tmp_path / "lasttick.toml"
    with pytest.raises(GateError) as raised:
        asyncio.run(measure(loaded, config))
    assert TOKEN not in str(raised.value)
    assert "[TOKEN]" in str(raised.value)
    assert TOKEN not in journal_file(config).read_text()


# -- a profile over HTTP, on a server that is another one

HTTP = """
version = 1
[target]
url = "{url}"
timeout_s = 1
[callers.alice]
[lease]
ttl_s = 4
renewed_by = []
acquire = {{ http = "POST /leases" }}
use = {{ http = "POST /use", json = {{ mark = "{{mark}}" }} }}
{holder}
[effects]
http = "GET /effects"
each = "/body"
out = {{ mark = "/mark" }}
"""
HOLDER = 'holder = { http = "GET /leases", each = "/body/held", out = { resource = "/id" } }'


async def broken(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("500 Internal Server Error", b"{}"))


async def other_json(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b'{"hello": "world"}'))


def without_use(text: str) -> str:
    return re.sub(r"(?m)^use = .*\n", "", text)


def look_http(answer: Answer, tmp_path: Path, holder: str, edit: Callable[[str], str] = str) -> Seen:
    """`holder`: a line, or a table, of the section of leases."""

    def loaded(url: str) -> Loaded:
        text = edit(HTTP.format(url=url.removesuffix("/mcp"), holder=holder))
        return loads(text, "lasttick.toml", {})

    return asyncio.run(served(answer, loaded, tmp_path / "lasttick.toml"))


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (html, 2, ": each /body"),
        (other_json, 2, ": each /body"),
        (redirect, 3, "is answered error; no rule of [outcomes] knows this reply"),
        (broken, 3, "is answered error; no rule of [outcomes] knows HTTP 500"),
    ],
)
@pytest.mark.parametrize("holder", [HOLDER, ""])
def test_another_server_is_found_out_before_any_law(
    answer: Answer, code: int, said: str, holder: str, tmp_path: Path
) -> None:
    with pytest.raises(GateError) as raised:
        look_http(answer, tmp_path, holder)
    assert raised.value.exit_code == code
    text = str(raised.value)
    assert said in text.splitlines()[0]
    place = r"12 \(\[lease.holder\]" if holder else r"1[35] \(\[effects\]"
    assert re.match(rf"lasttick\.toml:{place}", text), text
    assert text.count("\n  expected: ") == text.count("\n  next: ") == 1


def test_effects_that_nobody_answers_are_exit_3(tmp_path: Path) -> None:
    async def only_leases(request: bytes, writer: asyncio.StreamWriter) -> None:
        if b"/effects" in request:
            writer.close()
        else:
            writer.write(reply("200 OK", b'{"held": []}'))

    with pytest.raises(Unreachable, match="effects is answered lost"):
        look_http(only_leases, tmp_path, HOLDER)


def test_one_error_among_answers_is_no_other_server(tmp_path: Path) -> None:
    asked: list[bytes] = []

    async def starting(request: bytes, writer: asyncio.StreamWriter) -> None:
        asked.append(request)
        if len(asked) == 1 or (b"/effects" in request and b"/effects" not in b"".join(asked[:-1])):
            await broken(request, writer)
        else:
            writer.write(reply("200 OK", b"[]" if b"/effects" in request else b'{"held": []}'))

    assert look_http(starting, tmp_path, HOLDER).round_trip_s is not None


# -- what is started on this machine


async def never(request: bytes, writer: asyncio.StreamWriter) -> None:
    raise AssertionError("something was sent")


@pytest.mark.parametrize(
    ("binding", "said"),
    [
        ('run = ["no-such-program-4b1f", "{mark}"]', "lease.use runs 'no-such-program-4b1f', which is not there"),
        ('run = ["./no/such", "{mark}"]', "lease.use runs './no/such', which is not there"),
        ('python = "no_such_module:Lab.use"\nargs = { mark = "{mark}" }', "No module named 'no_such_module'"),
        ('python = "json:JSONDecoder.nope"\nargs = { mark = "{mark}" }', "json:JSONDecoder has no method 'nope'"),
        ('python = "json:dumps.x"\nargs = { mark = "{mark}" }', "json:dumps is a function, no class"),
    ],
)
def test_what_a_binding_starts_has_to_be_there(binding: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(GateError) as raised:
        look_http(never, tmp_path, f"[lease.use]\n{binding}\n", without_use)
    assert raised.value.exit_code == 2
    assert re.match(r"lasttick\.toml:12 \(\[lease\.use\] (run|python)\): ", str(raised.value))
    assert said in str(raised.value).splitlines()[0]


@pytest.mark.parametrize("program", ['"sh"', '"/bin/sh"', '"{resource}"'])
def test_a_program_that_is_there_or_is_known_only_later(program: str, tmp_path: Path) -> None:
    async def answers(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("200 OK", b"[]"))

    look_http(answers, tmp_path, f'[lease.use]\nrun = [{program}, "{{mark}}"]\n', without_use)
