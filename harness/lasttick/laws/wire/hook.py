"""Kind `python`: a method of the user's own class, for what no other kind reaches (WebSocket, ACP, push).

Source: contract laws, "Binding": one instance per caller session, closed at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import importlib
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from lasttick.laws.reply import Reply
from lasttick.laws.wire.answers import failure_of, lines_of, shortened
from lasttick.laws.wire.message import Message, WireError


class Hooks:
    """The instances of one caller's session, one per class, made at the first call of one of its methods.

    A class is called without arguments, or, if it takes one, with `about` ({url, headers, env, name}). A method gets
    the message's arguments by name; an async one is awaited, a plain one runs in a thread. What it returns is the body;
    what it raises, the error.
    """

    def __init__(self, about: dict[str, Any]) -> None:
        self._about = about
        self._instances: dict[str, Any] = {}

    async def call(self, message: Message) -> Reply:
        """Raises WireError: there is no such class or method."""
        try:
            path, kind, method_name = _method(message.what)
        except _Missing as error:
            raise _unreachable(message.what, str(error)) from error
        try:
            if path not in self._instances:
                self._instances[path] = kind(copy.deepcopy(self._about)) if _takes_one(kind) else kind()
            returned = await _called(getattr(self._instances[path], method_name), message.args)
        except _RAISED as error:
            return _raised(error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # it is this call that was cancelled
            return _raised(error)
        return _returned(returned)

    async def vanish(self, within_s: float) -> None:
        """`vanish` of each instance, for one that can cut its connections without a word; else as `close`."""
        await self._end(within_s, "vanish", "close", "aclose")

    async def close(self, within_s: float) -> None:
        """`close` or `aclose` of each instance, if it has one. Whoever takes longer is left behind."""
        await self._end(within_s, "close", "aclose")

    async def _end(self, within_s: float, *names: str) -> None:
        while self._instances:
            _, instance = self._instances.popitem()
            method = next((method for name in names if callable(method := getattr(instance, name, None))), None)
            if method is not None:
                with contextlib.suppress(*_RAISED):  # it is over either way, and nobody asked for an answer
                    async with asyncio.timeout(within_s):
                        await _called(method, {})


def missing(what: str) -> str | None:
    """Why `module:Class.method` cannot be called; None when it can."""
    try:
        _method(what)
    except _Missing as error:
        return str(error)
    return None


class _Missing(Exception):
    """Why there is no such method."""


class _Threads(Executor):
    """A daemon thread per call: a method that never returns must not hold up the end of the run."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, name="lasttick hook", daemon=True).start()
        return future


_THREADS = _Threads()
# sys.exit() in a hook is a failure of the hook, not the end of the run.
_RAISED = (Exception, SystemExit)


async def _called(method: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(method):
        return await method(**arguments)
    loop = asyncio.get_running_loop()
    returned = await loop.run_in_executor(_THREADS, lambda: _guarded(method, arguments))
    return await returned if inspect.isawaitable(returned) else returned


def _guarded(method: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """A future can carry neither of these two."""
    try:
        return method(**arguments)
    except (StopIteration, SystemExit) as error:
        raise RuntimeError(failure_of(error)) from error


def _method(what: str) -> tuple[str, type, str]:
    """Path of its class, the class, its name. Raises _Missing."""
    path, _, name = what.rpartition(".")
    kind = _class(path)
    if not callable(getattr(kind, name, None)) or name.startswith("_"):
        raise _Missing(f"{path} has no method {name!r}")
    return path, kind, name


def _class(path: str) -> type:
    module_name, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except _RAISED as error:
        raise _Missing(failure_of(error)) from error
    if not isinstance(found, type):
        raise _Missing(f"{path} is a {type(found).__name__}, no class")
    return found


def _unreachable(what: str, why: str) -> WireError:
    return WireError(
        f"python = {what!r} cannot be called: {why}; expected module:Class.method of something that can be imported "
        "(docs/check.md, 'Binding'); correct the name, or put its folder on PYTHONPATH"
    )


def _takes_one(kind: type) -> bool:
    try:
        inspect.signature(kind).bind({})
    except (TypeError, ValueError):
        return False
    return True


def _returned(value: Any) -> Reply:
    """Through JSON: what the method changes later must not change the Reply."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    try:
        text = json.dumps(value, ensure_ascii=False)
        body = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        said = f"returned a {type(value).__name__} that is no JSON: {failure_of(error)}"
        return Reply(False, error={"message": said, "body": type(value).__name__}, raw=said)
    return Reply(True, body=body, lines=lines_of(value) if isinstance(value, str) else (), raw=shortened(text))


def _raised(error: BaseException) -> Reply:
    message = shortened(str(error)) or type(error).__name__
    raw = f"raised {failure_of(error)}"
    return Reply(False, error={"message": message, "body": type(error).__name__}, raw=raw)
