"""Kind python: methods of the user's own class."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.loop import run_virtual
from lasttick.laws.reply import Reply
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place

HOOKS = """
import asyncio, sys, threading, time
from datetime import date

LOG = []

class Lab:
    def __init__(self, about):
        self.about = about
        self.calls = 0
        LOG.append("open " + about["name"])

    async def acquire(self, resource="", **more):
        self.calls += 1
        await asyncio.sleep(0)
        return {"resource": resource or "r1", "calls": self.calls, "more": more}

    def plain(self):
        return threading.current_thread() is threading.main_thread()

    def told(self):
        return self.about

    def returns(self, kind):
        return {
            "list": [1, "a"], "text": "a\\nb", "nothing": None, "bytes": b"caf\\xe9", "tuple": (1,),
            "reply": {"ok": False, "status": 500, "body": 1}, "date": date(2026, 1, 1), "set": {1},
        }[kind]

    def loop(self):
        me = []
        me.append(me)
        return me

    def coroutine(self):
        return self.acquire("lazy")

    async def fails(self):
        raise LookupError("no such\\nlease")

    def fails_plainly(self):
        raise ValueError

    def stops(self):
        raise StopIteration("enough")

    async def exits(self):
        sys.exit(4)

    def exits_plainly(self):
        sys.exit(5)

    async def cancels(self):
        raise asyncio.CancelledError

    async def hangs(self):
        await asyncio.sleep(3600)

    def hangs_plainly(self):
        time.sleep(3600)

    def close(self):
        LOG.append("close " + self.about["name"])

    def spoil(self):
        self.about["headers"]["A"] = "z"

    number = 3

    class Other:
        def __init__(self, about):
            self.about = about

        def told(self):
            return self.about

    class Inner:
        async def ping(self):
            return "pong"

        async def aclose(self):
            LOG.append("aclose")
            raise OSError("already gone")

class Silent:
    async def vanish(self):
        LOG.append("vanish")

    async def ping(self):
        LOG.append("ping")

    def close(self):
        LOG.append("close")

class Slow:
    async def ping(self):
        LOG.append("ping")

    async def close(self):
        LOG.append("closing")
        await asyncio.sleep(3600)
        LOG.append("closed")

class Broken:
    def __init__(self):
        raise ConnectionError("nobody there")

    def ping(self):
        return 1

def function():
    return 1
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    (tmp_path / "my_hooks.py").write_text(HOOKS)
    (tmp_path / "my_broken.py").write_text("import no_such_module_9")
    (tmp_path / "my_syntax.py").write_text("def (")
    (tmp_path / "my_exit.py").write_text(textwrap.dedent("import sys\nsys.exit(2)"))
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("my_hooks", None)
    import my_hooks  # type: ignore[import-not-found]

    yield my_hooks.LOG
    sys.modules.pop("my_hooks", None)


def wire(name: str = "alice") -> CallerWire:
    return CallerWire(
        Place("http://127.0.0.1:1/mcp", env={"C": "c", "E": "f"}), headers={"A": "b"}, env={"C": "d"}, name=name
    )


def call(what: str, **args: Any) -> Message:
    return Message("python", f"my_hooks:{what}", args=args, timeout_s=5.0)


def ask(what: str, **args: Any) -> Reply:
    async def body() -> Reply:
        alice = wire()
        try:
            return await alice.send(call(what, **args))
        finally:
            await alice.close()

    return asyncio.run(body())


def test_one_instance_for_a_callers_session(log: list[str]) -> None:
    async def body() -> None:
        alice, bob = wire(), wire("bob")
        first = await alice.send(call("Lab.acquire", resource="r7", ttl_s=2))
        assert (first.ok, first.body) == (True, {"resource": "r7", "calls": 1, "more": {"ttl_s": 2}})
        assert (await alice.send(call("Lab.acquire"))).body["calls"] == 2
        assert (await bob.send(call("Lab.acquire"))).body["calls"] == 1
        await alice.close()
        assert log == ["open alice", "open bob", "close alice"]
        await alice.close()
        await bob.close()
        assert log[3:] == ["close bob"]

    asyncio.run(body())


def test_what_an_instance_is_told(log: list[str]) -> None:
    about = {"url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}, "env": {"C": "d", "E": "f"}, "name": "alice"}
    assert ask("Lab.told").body == about

    async def body() -> None:
        alice = wire()
        await alice.send(call("Lab.spoil"))
        assert (await alice.send(call("Lab.Other.told"))).body == about  # an instance of its own
        await alice.close()

    asyncio.run(body())


def test_a_plain_method_runs_beside_the_loop(log: list[str]) -> None:
    assert ask("Lab.plain").body is False


def test_a_method_that_only_makes_a_coroutine(log: list[str]) -> None:
    assert ask("Lab.coroutine").body["resource"] == "lazy"


def test_a_class_that_takes_nothing(log: list[str]) -> None:
    assert ask("Lab.Inner.ping").body == "pong"
    assert log == ["aclose"]  # and what it raised there is nobody's answer


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("list", [1, "a"]),
        ("text", "a\nb"),
        ("nothing", None),
        ("bytes", "caf\ufffd"),
        ("tuple", [1]),
        ("reply", {"ok": False, "status": 500, "body": 1}),
    ],
)
def test_what_is_returned_is_the_body(log: list[str], what: str, body: Any) -> None:
    reply = ask("Lab.returns", kind=what)
    assert (reply.ok, reply.body, reply.status, reply.error) == (True, body, None, None)
    assert reply.lines == (("a", "b") if what == "text" else reply.lines)


@pytest.mark.parametrize("what", ["date", "set"])
def test_what_is_no_json_is_an_error(log: list[str], what: str) -> None:
    reply = ask("Lab.returns", kind=what)
    assert (reply.ok, reply.body, reply.error["body"]) == (False, None, what)
    assert "that is no JSON" in reply.error["message"]
    assert not ask("Lab.loop").ok


@pytest.mark.parametrize(
    ("method", "message", "kind"),
    [
        ("fails", "no such\nlease", "LookupError"),
        ("fails_plainly", "ValueError", "ValueError"),
        ("stops", "StopIteration: enough", "RuntimeError"),
        ("exits", "4", "SystemExit"),
        ("exits_plainly", "SystemExit: 5", "RuntimeError"),
        ("cancels", "CancelledError", "CancelledError"),
        ("acquire", "multiple values", "TypeError"),
    ],
)
def test_what_is_raised_is_the_error(log: list[str], method: str, message: str, kind: str) -> None:
    args = {"self": 1} if method == "acquire" else {}
    reply = ask(f"Lab.{method}", **args)
    assert (reply.ok, reply.lost, reply.body) == (False, None, None)
    assert reply.error["body"] == kind
    assert message in reply.error["message"]
    assert reply.raw.startswith("raised ")


def test_a_class_that_cannot_be_made(log: list[str]) -> None:
    reply = ask("Broken.ping")
    assert reply.error == {"message": "nobody there", "body": "ConnectionError"}


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("no_such_module_9:Lab.acquire", "ModuleNotFoundError: No module named 'no_such_module_9'"),
        ("my_broken:Lab.acquire", "No module named 'no_such_module_9'"),
        ("my_syntax:Lab.acquire", "SyntaxError"),
        ("my_exit:Lab.acquire", "SystemExit: 2"),
        ("my_hooks:Labs.acquire", "no attribute 'Labs'"),
        ("my_hooks:Lab.acquir", "my_hooks:Lab has no method 'acquir'"),
        ("my_hooks:Lab.number", "my_hooks:Lab has no method 'number'"),
        ("my_hooks:Lab.__init__", "my_hooks:Lab has no method '__init__'"),
        ("my_hooks:function.__call__", "my_hooks:function is a function, no class"),
        ("my_hooks:Lab", "my_hooks"),
        ("my_hooks", "cannot be called"),
        ("", "cannot be called"),
        ("..x:Lab.acquire", "cannot be called"),
    ],
)
def test_what_cannot_be_called(log: list[str], what: str, why: str) -> None:
    async def body() -> None:
        with pytest.raises(WireError) as caught:
            await wire().send(Message("python", what))
        assert why in str(caught.value)
        assert "; expected module:Class.method" in str(caught.value)

    asyncio.run(body())


@pytest.mark.parametrize("method", ["hangs", "hangs_plainly"])
def test_a_method_that_hangs_is_lost_and_holds_up_nothing(log: list[str], method: str) -> None:
    async def body() -> None:
        alice = wire()
        message = Message("python", f"my_hooks:Lab.{method}", timeout_s=0.1)
        assert (await alice.send(message)).lost == "no whole answer within 0.1 s"
        flight = asyncio.create_task(alice.send(call(f"Lab.{method}")))
        await asyncio.sleep(0.05)
        await alice.vanish()
        assert (await flight).lost == "alice has vanished"

    asyncio.run(body())
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "lasttick hook")


def test_cancelling_the_sender_is_no_error_of_the_method(log: list[str]) -> None:
    async def body() -> None:
        flight = asyncio.create_task(wire().send(call("Lab.hangs")))
        await asyncio.sleep(0.05)
        flight.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flight

    asyncio.run(body())


def test_vanishing_is_silent_where_the_class_can(log: list[str]) -> None:
    async def body() -> None:
        alice = wire()
        await alice.send(call("Silent.ping"))
        await alice.send(call("Lab.acquire"))
        await alice.vanish()
        assert log == ["ping", "open alice", "close alice", "vanish"]

    asyncio.run(body())


def test_an_instance_that_does_not_want_to_close(log: list[str]) -> None:
    async def main(loop: Any) -> None:
        alice = CallerWire(Place(timeout_s=3.0))
        await alice.send(call("Slow.ping"))
        await alice.close()
        assert (loop.time(), log) == (3.0, ["ping", "closing"])

    run_virtual(main)


def test_in_virtual_time(log: list[str]) -> None:
    async def main(loop: Any) -> None:
        alice = wire()
        assert (await alice.send(call("Lab.acquire"))).ok
        assert (await alice.send(call("Lab.plain"))).body is True  # threads are inline there
        assert (await alice.send(call("Lab.hangs"))).lost == "no whole answer within 5 s"
        assert loop.time() == 5.0
        await alice.close()

    run_virtual(main)
