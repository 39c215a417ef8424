"""Wrong host agents: the door, the token file, the mount, the restart and the single instance.

HA-02 and HA-03 have one mutant per clause or row of their scenarios.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import BaseRoute, Mount, Route

from lasttick.mutants import Mutant, Seam
from lasttick.reference.hostagent import (
    agent,
    config,
    door,
    heartbeat,
    identity,
    instance_lock,
    mcp_server,
    private_file,
    status_board,
    tokens,
)
from lasttick.reference.hostagent.agent import HostAgent
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.console import Console
from lasttick.reference.hostagent.door import Door
from lasttick.reference.hostagent.instance_lock import InstanceLock
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.private_file import PrivateFileError
from lasttick.reference.hostagent.tokens import McpTokenStore

log = logging.getLogger(__name__)
Patch = Callable[[Seam], AbstractContextManager[None]]


# -- HA-01: mount ------------------------------------------------------------------------------------------------------


_routes, _security = mcp_server.routes, mcp_server.security


def _one_spelling(app: Any) -> list[BaseRoute]:
    """As a framework does that knows an address by one spelling and sends the other one there."""
    return [Route("/mcp", endpoint=app), Route("/mcp/", _moved, methods=["GET", "POST", "DELETE", "OPTIONS", "PUT"])]


async def _moved(request: Request) -> RedirectResponse:
    return RedirectResponse("/mcp", 307)


def _prefix(app: Any) -> list[BaseRoute]:
    """Everything below /mcp is taken from the console."""
    return [*_routes(app), Mount("/mcp", app=app), Mount("/MCP", app=app)]


def _unchecked(port: int | None, extra_host: str | None) -> TransportSecuritySettings:
    return TransportSecuritySettings(enable_dns_rebinding_protection=False)


def _off_when_widened(port: int | None, extra_host: str | None) -> TransportSecuritySettings:
    """Common advice: with a public host name, switch the check off."""
    return _unchecked(port, None) if extra_host else _security(port, None)


def _never_widened(port: int | None, extra_host: str | None) -> TransportSecuritySettings:
    return _security(port, None)


def _switch(*names: str) -> Patch:
    """These switches count as set."""

    def wrong(right: Any) -> Any:
        def check(self: Any) -> None:
            for name in names:
                object.__setattr__(self, name, True)
            right(self)

        return check

    return lambda seam: seam.wrap(config.HostAgentConfig, "check", wrong)


async def _waits_for_calls(close: Callable[[], Any], what: str) -> None:
    calls = getattr(close, "__self__", None)
    if isinstance(calls, LeasedCalls):
        await asyncio.gather(*list(calls._running), return_exceptions=True)
    await close()


# -- HA-02: door -------------------------------------------------------------------------------------------------------


def _also_admits(opens: Callable[[Door, Any], bool]) -> Patch:
    """The door, and one more way in."""

    def wrong(right: Any) -> Any:
        def admits(self: Door, scope: Any) -> bool:
            return bool(right(self, scope)) or opens(self, scope)

        return admits

    return lambda seam: seam.wrap(Door, "admits", wrong)


def _values(scope: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _in_query(self: Door, scope: Any) -> bool:
    pairs = unquote(scope["query_string"].decode("latin-1")).split("&")
    return any(self._verify(pair.partition("=")[2].removeprefix("Bearer ")) for pair in pairs)


def _in_cookie(self: Door, scope: Any) -> bool:
    crumbs = "; ".join(_values(scope, b"cookie")).split("; ")
    return any(self._verify(crumb.partition("=")[2]) for crumb in crumbs)


def _with_console_cookie(self: Door, scope: Any) -> bool:
    return any("lasttick_console=" in value for value in _values(scope, b"cookie"))


def _in_other_header(name: bytes) -> Callable[[Door, Any], bool]:
    return lambda self, scope: any(self._verify(value.partition(" ")[2]) for value in _values(scope, name))


def _empty(self: Door, scope: Any) -> bool:
    """An empty password was typed: `not token or ...`."""
    return any(value.strip().lower() == "bearer" for value in _values(scope, b"authorization"))


def _method(*names: str) -> Patch:
    return _also_admits(lambda self, scope: scope["method"] in names)


def _presented(reads: Callable[[list[bytes]], str | None]) -> Patch:
    """Another reading of the Authorization headers of a request."""

    def presented(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        return reads([value for name, value in headers if name.lower() == b"authorization"])

    return lambda seam: seam.replace(door, "presented", presented)


def _after_scheme(value: bytes) -> str | None:
    text = value.decode("latin-1").strip(" \t")
    scheme, _, token = text.partition(" ")
    return token.strip(" \t") if scheme.lower() == "bearer" else None


def _first(values: list[bytes]) -> str | None:
    return _after_scheme(values[0]) if values else None


def _last(values: list[bytes]) -> str | None:
    return _after_scheme(values[-1]) if values else None


def _case_of_scheme(values: list[bytes]) -> str | None:
    return _after_scheme(values[0]) if len(values) == 1 and values[0].startswith(b"Bearer ") else None


def _any_scheme(values: list[bytes]) -> str | None:
    return values[0].decode("latin-1").rpartition(" ")[2] if len(values) == 1 else None


def _glued(values: list[bytes]) -> str | None:
    text = values[0].decode("latin-1") if len(values) == 1 else ""
    return text[6:].strip(" \t") if text[:6].lower() == "bearer" else None


def _first_word(values: list[bytes]) -> str | None:
    token = _after_scheme(values[0]) if len(values) == 1 else None
    return None if token is None else token.partition(" ")[0].rstrip(",")


def _strict_utf8(values: list[bytes]) -> str | None:
    if len(values) != 1:
        return None
    values[0].decode("utf-8")
    return _after_scheme(values[0])


def _drops_odd_bytes(values: list[bytes]) -> str | None:
    return _after_scheme(values[0].decode("ascii", "ignore").encode()) if len(values) == 1 else None


def _without_case(self: McpTokenStore, presented: str) -> bool:
    return self._token is not None and presented.lower() == self._token.token.lower()


def _prefix_is_enough(self: McpTokenStore, presented: str) -> bool:
    return self._token is not None and presented.startswith(self._token.token)


def _refuse_and(say: Callable[[Any], None]) -> Patch:
    def wrong(right: Any) -> Any:
        async def refuse(self: Door, scope: Any, send: Any) -> None:
            say(scope)
            await right(self, scope, send)

        return refuse

    return lambda seam: seam.wrap(Door, "refuse", wrong)


def _access_line(scope: Any) -> None:
    logging.getLogger("uvicorn.access").info("%s %s 401", scope["method"], scope["path"])


async def _refuse_without_challenge(self: Door, scope: Any, send: Any) -> None:
    await JSONResponse({"error": "invalid token"}, 401)(scope, _nothing, send)


async def _nothing() -> Any:
    return {"type": "http.disconnect"}


def _tell_always(self: Door) -> None:
    door.log.info("an MCP request with a valid token came in")


def _tell_never(self: Door) -> None:
    return


def _tell_at_warning(self: Door) -> None:
    if not self._opened:
        self._opened = True
        door.log.warning("the first MCP request with a valid token came in")


def _logs_token(right: Any) -> Any:
    def load_or_create(self: McpTokenStore) -> Any:
        token = right(self)
        log.info("MCP token ready: %s", token.token)
        return token

    return load_or_create


def _heartbeat_names_sessions(right: Any) -> Any:
    def payload(seq: int, seen: Any) -> dict[str, Any]:
        body: dict[str, Any] = right(seq, seen)
        for row in body["devices"]:
            holders = [view.holder.id for view in seen.leases if view.device_id == row["device_id"]]
            row["status"] = f"{row['status']} {holders[0]}" if holders else row["status"]
        return body

    return payload


def _status_takes_bearer(right: Any) -> Any:
    async def status(self: Console, request: Request) -> JSONResponse:
        if request.headers.get("authorization", "").startswith("Bearer "):
            return JSONResponse(await self._status())
        return await right(self, request)

    return status


# -- HA-03: token file -------------------------------------------------------------------------------------------------


def _last_writer_wins(temp: Path, path: Path) -> bool:
    os.replace(temp, path)
    return True


def _anew(right: Any) -> Any:
    def load_or_create(self: McpTokenStore) -> Any:
        self.path.unlink(missing_ok=True)
        return right(self)

    return load_or_create


def _mends_mode(right: Any) -> Any:
    def read(path: Path) -> bytes | None:
        if path.is_file():
            path.chmod(0o600)
        return right(path)

    return read


def _regenerates(*because: str) -> Patch:
    """A file that is refused for one of these reasons is thrown away instead, and made anew."""

    def wrong(right: Any) -> Any:
        def load_or_create(path: Path, **how: Any) -> Any:
            try:
                return right(path, **how)
            except PrivateFileError as error:
                if not any(reason in error.happened for reason in because):
                    raise
                path.unlink()
                return right(path, **how)

        return load_or_create

    return lambda seam: seam.wrap(private_file, "load_or_create", wrong)


def _parses(change: Callable[[dict[str, Any]], object]) -> Patch:
    """The record is bent into shape before it is looked at."""

    def wrong(right: Any) -> Any:
        def parse(path: Path, content: bytes, name: str, pattern: Any) -> Any:
            with suppress(ValueError, RecursionError):
                record = json.loads(content)
                if isinstance(record, dict):
                    change(record)
                    content = json.dumps(record).encode()
            return right(path, content, name, pattern)

        return parse

    return lambda seam: seam.wrap(private_file, "_parse", wrong)


def _token_as_text(record: dict[str, Any]) -> None:
    if isinstance(record.get("token"), int):
        record["token"] = str(record["token"])


def _keeps_in_memory(right: Any) -> Any:
    def create(path: Path, content: bytes) -> bool:
        try:
            return bool(right(path, content))
        except PrivateFileError:
            log.warning("%s cannot be written", path)
            return True

    return create


def _replaces_unreadable(right: Any) -> Any:
    def read(path: Path) -> bytes | None:
        try:
            return right(path)
        except PrivateFileError as error:
            if "Permission denied" not in error.happened:
                raise
            path.unlink()
            return None

    return read


def _follows_links(right: Any) -> Any:
    def read(path: Path) -> bytes | None:
        return right(path.resolve())

    return read


def _clears_directory(right: Any) -> Any:
    def read(path: Path) -> bytes | None:
        if path.is_dir():
            path.rmdir()
        return right(path)

    return read


def _in_place(path: Path, content: bytes) -> bool:
    """Exclusive, and torn by a kill in the middle."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    os.write(fd, content)
    os.close(fd)
    return True


def _reads_file_each_time(self: McpTokenStore, presented: str) -> bool:
    try:
        return bool(json.loads(self.path.read_text())["token"] == presented)
    except (OSError, ValueError):
        return False


# -- HA-15: restart ----------------------------------------------------------------------------------------------------


def _kept_store(clock: Any, *ages_s: float) -> MemoryLeaseStore:
    """One table of leases for every host agent on this clock, as if it had been written down and read again."""
    if not hasattr(clock, "kept_leases"):
        clock.kept_leases = _KeptStore(clock, *ages_s)
    return clock.kept_leases


class _KeptStore(MemoryLeaseStore):
    async def end_holder(self, holder: Any) -> Any:
        """Sessions end with the process; their leases do not."""


# -- HA-23: single instance --------------------------------------------------------------------------------------------


def _no_lock(self: InstanceLock) -> None:
    os.makedirs(self._folder, mode=0o700, exist_ok=True)


def _pid_file_is_the_lock(right: Any) -> Any:
    def acquire(self: InstanceLock) -> None:
        if self._pid_file.exists():
            pid = self._owner()
            raise instance_lock.InstanceLockError(
                f"another host agent (pid {pid}) runs in {self._folder}", "one (HA-23)", "stop it", pid=pid
            )
        right(self)

    return acquire


def _token_first(right: Any) -> Any:
    def __init__(self: HostAgent, *args: Any, **options: Any) -> None:
        right(self, *args, **options)
        acquire = self.instance_lock.acquire

        def late() -> None:
            self._tokens.load_or_create()
            acquire()

        self.instance_lock.acquire = late  # type: ignore[method-assign]

    return __init__


def _names_nobody(self: InstanceLock) -> int | None:
    return None


def _password_is_token(folder: Path, *, clock: Any, entropy: Any) -> str:
    token = str(json.loads((folder / tokens.FILE_NAME).read_text())["token"])
    return private_file.load_or_create(
        folder / identity.CONSOLE_FILE_NAME,
        name="password",
        new_value=lambda: token,
        pattern=identity.PASSWORD,
        clock=clock,
    ).value


# -- the list ----------------------------------------------------------------------------------------------------------


def _replace(owner: Any, name: str, value: Any) -> Patch:
    return lambda seam: seam.replace(owner, name, value)


def _wrap(owner: Any, name: str, wrong: Callable[[Any], Any]) -> Patch:
    return lambda seam: seam.wrap(owner, name, wrong)


def _of(breaks: str, *rows: tuple[str, str, Patch, str]) -> list[Mutant]:
    return [
        Mutant(f"hostagent/{name}", breaks=breaks, text=text, killed_by=f"hostagent/{killer}", patch=patch)
        for name, text, patch, killer in rows
    ]


def _row(row: str) -> str:
    return f"door/a-wrong-header-opens-nothing[{row}]"


def _content(row: str) -> str:
    return f"token/a-wrong-content-stops-the-start[{row}]"


MUTANTS: list[Mutant] = [
    Mutant(
        "hostagent/mount-redirects",
        breaks="HA-01",
        ruling=11,
        text="MCP has one spelling of its path, and the other one answers with a redirect.",
        killed_by="hostagent/mount/both-spellings-are-the-endpoint",
        patch=_replace(mcp_server, "routes", _one_spelling),
    ),
    Mutant(
        "hostagent/token-last-writer-wins",
        breaks="HA-03",
        ruling=15,
        text="The token file is put in place over whatever a racing process put there.",
        killed_by="hostagent/token/racing-processes-end-with-one-token[2]",
        patch=_replace(private_file, "publish", _last_writer_wins),
    ),
    *_of(
        "HA-01",
        (
            "mount-swallows-paths",
            "Everything below /mcp goes to the MCP application instead of the console.",
            _replace(mcp_server, "routes", _prefix),
            "mount/other-paths-are-the-consoles",
        ),
        (
            "host-check-off",
            "Host and Origin are not looked at.",
            _replace(mcp_server, "security", _unchecked),
            "mount/on-loopback-only-loopback-names-are-served",
        ),
        (
            "host-check-off-when-widened",
            "A non-loopback host switches the Host check off instead of widening it.",
            _replace(mcp_server, "security", _off_when_widened),
            "mount/both-switches-let-that-host-in-and-no-other",
        ),
        (
            "host-check-never-widened",
            "The allowed hosts stay loopback although both switches are set.",
            _replace(mcp_server, "security", _never_widened),
            "mount/both-switches-let-that-host-in-and-no-other",
        ),
        (
            "flag-alone-is-enough",
            "A non-loopback host starts with the flag and without the variable.",
            _switch("environment_allows_non_loopback"),
            "mount/one-switch-lets-nobody-in[0.0.0.0-flag]",
        ),
        (
            "variable-alone-is-enough",
            "A non-loopback host starts with the variable and without the flag.",
            _switch("allow_non_loopback"),
            "mount/one-switch-lets-nobody-in[0.0.0.0-variable]",
        ),
        (
            "stop-waits-for-calls",
            "A stop waits until the driver calls in flight have ended.",
            _replace(agent, "_bounded", _waits_for_calls),
            "mount/stops-in-five-seconds-whatever-is-open",
        ),
    ),
    *_of(
        "HA-02",
        (
            "token-in-query",
            "A token in the query opens too.",
            _also_admits(_in_query),
            "door/the-query-and-the-body-open-nothing",
        ),
        ("token-in-cookie", "A token in any cookie opens too.", _also_admits(_in_cookie), _row("cookie-token")),
        (
            "token-in-x-authorization",
            "The header X-Authorization counts too.",
            _also_admits(_in_other_header(b"x-authorization")),
            _row("other-header"),
        ),
        (
            "token-in-proxy-authorization",
            "The header Proxy-Authorization counts too.",
            _also_admits(_in_other_header(b"proxy-authorization")),
            _row("proxy-header"),
        ),
        ("empty-token-opens", "An empty bearer token is let in.", _also_admits(_empty), _row("empty-token")),
        *(
            (
                f"{method.lower()}-needs-no-token",
                f"{method} is let in without a token.",
                _method(method),
                "door/every-method-needs-the-token",
            )
            for method in ("HEAD", "GET", "DELETE", "OPTIONS", "POST", "PUT")
        ),
        (
            "scheme-case-counts",
            "Only the spelling `Bearer` of the scheme is let in.",
            _presented(_case_of_scheme),
            "door/the-scheme-has-no-case-and-the-token-has",
        ),
        ("any-scheme-opens", "The scheme is not looked at.", _presented(_any_scheme), _row("basic-scheme")),
        ("scheme-glued-to-token", "No blank is needed after the scheme.", _presented(_glued), _row("scheme-glued")),
        (
            "token-case-ignored",
            "The token is compared without case.",
            _replace(McpTokenStore, "verify", _without_case),
            _row("token-in-other-case"),
        ),
        (
            "token-prefix-is-enough",
            "Whatever begins with the token is let in.",
            _replace(McpTokenStore, "verify", _prefix_is_enough),
            _row("token-and-more"),
        ),
        (
            "first-word-is-enough",
            "What follows the token in its header is ignored.",
            _presented(_first_word),
            _row("token-in-a-list"),
        ),
        (
            "duplicate-header-first-wins",
            "Of two Authorization headers the first counts.",
            _presented(_first),
            _row("duplicate-good-first"),
        ),
        (
            "duplicate-header-last-wins",
            "Of two Authorization headers the last counts.",
            _presented(_last),
            _row("duplicate-good-last"),
        ),
        ("odd-bytes-crash", "A header that is not UTF-8 ends in 500.", _presented(_strict_utf8), _row("byte-ff")),
        ("odd-bytes-dropped", "Bytes outside ASCII are dropped.", _presented(_drops_odd_bytes), _row("byte-ff")),
        (
            "refusal-without-challenge",
            "A 401 comes without WWW-Authenticate.",
            _replace(Door, "refuse", _refuse_without_challenge),
            _row("no-header"),
        ),
        (
            "refusals-logged",
            "Each refused attempt is logged.",
            _refuse_and(lambda scope: door.log.warning("refused")),
            "door/refusals-are-silent-and-the-first-success-is-told-once",
        ),
        (
            "refusals-in-access-log",
            "Each refused attempt is a line of uvicorn.access.",
            _refuse_and(_access_line),
            "door/refusals-are-silent-and-the-first-success-is-told-once",
        ),
        (
            "every-success-told",
            "Each request that is let in is told at INFO.",
            _replace(Door, "tell_once", _tell_always),
            "door/refusals-are-silent-and-the-first-success-is-told-once",
        ),
        (
            "first-success-not-told",
            "Nobody is told of the first success.",
            _replace(Door, "tell_once", _tell_never),
            "door/refusals-are-silent-and-the-first-success-is-told-once",
        ),
        (
            "first-success-is-a-warning",
            "The first success is told at WARNING.",
            _replace(Door, "tell_once", _tell_at_warning),
            "door/refusals-are-silent-and-the-first-success-is-told-once",
        ),
        (
            "console-cookie-opens-mcp",
            "Who is logged in to the console needs no token.",
            _also_admits(_with_console_cookie),
            "door/cookie-and-token-never-stand-in-for-each-other",
        ),
        (
            "token-opens-status",
            "A bearer header opens the console's status.",
            _wrap(Console, "status", _status_takes_bearer),
            "door/cookie-and-token-never-stand-in-for-each-other",
        ),
        (
            "token-is-the-password",
            "The MCP token is the console's password too.",
            _replace(identity, "load_or_create_password", _password_is_token),
            "door/cookie-and-token-never-stand-in-for-each-other",
        ),
        (
            "log-shows-token",
            "The start logs the token.",
            _wrap(McpTokenStore, "load_or_create", _logs_token),
            "door/secrets-are-written-nowhere",
        ),
        (
            "log-shows-session-id",
            "The SDK's lines with whole session ids are let through.",
            _replace(mcp_server.ShortenSessionIds, "filter", lambda self, record: True),
            "door/secrets-are-written-nowhere",
        ),
        (
            "status-shows-session-id",
            "The status shows whole session ids.",
            _replace(status_board, "SESSION_SHOWN", 99),
            "door/secrets-are-written-nowhere",
        ),
        (
            "heartbeat-shows-session-id",
            "A heartbeat says which session holds a device.",
            _wrap(heartbeat, "payload", _heartbeat_names_sessions),
            "door/secrets-are-written-nowhere",
        ),
    ),
    *_of(
        "HA-03",
        (
            "token-made-at-each-start",
            "Each start makes a token of its own.",
            _wrap(McpTokenStore, "load_or_create", _anew),
            "token/made-once-and-used-again",
        ),
        (
            "token-file-readable-by-all",
            "The token file is made with mode 0644.",
            _replace(private_file, "MODE", 0o644),
            "token/made-once-and-used-again",
        ),
        (
            "looser-mode-mended",
            "A mode that is too open is corrected silently.",
            _wrap(private_file, "read", _mends_mode),
            "token/a-looser-mode-is-refused[0644]",
        ),
        (
            "corrupt-token-made-anew",
            "A file that is no JSON is replaced.",
            _regenerates("not JSON"),
            _content("corrupt"),
        ),
        ("empty-token-file-made-anew", "An empty file is replaced.", _regenerates("is empty"), _content("empty")),
        (
            "token-version-ignored",
            "The version is not looked at.",
            _parses(lambda record: record.update(version=1)),
            _content("version-2"),
        ),
        ("token-type-ignored", "A number serves as the token.", _parses(_token_as_text), _content("token-number")),
        (
            "empty-token-made-anew",
            "A file with an empty token is replaced.",
            _regenerates("that is empty"),
            _content("token-empty"),
        ),
        (
            "unwritable-token-in-memory",
            "When the file cannot be made, the token lives in memory only.",
            _wrap(private_file, "create", _keeps_in_memory),
            "token/without-the-right-to-it-it-is-refused[unwritable-folder]",
        ),
        (
            "unreadable-token-made-anew",
            "A file that cannot be read is replaced.",
            _wrap(private_file, "read", _replaces_unreadable),
            "token/without-the-right-to-it-it-is-refused[unreadable-file]",
        ),
        (
            "token-link-followed",
            "A symbolic link to a token file is followed.",
            _wrap(private_file, "read", _follows_links),
            "token/what-is-no-file-is-refused[symlink]",
        ),
        (
            "token-directory-replaced",
            "An empty directory in place of the file is removed.",
            _wrap(private_file, "read", _clears_directory),
            "token/what-is-no-file-is-refused[directory]",
        ),
        (
            "token-written-in-place",
            "The file has its name before it is whole.",
            _replace(private_file, "create", _in_place),
            "token/a-kill-within-the-write-leaves-no-torn-file",
        ),
        (
            "token-follows-the-file",
            "The file is read for each request, so that deleting it locks everybody out at once.",
            _replace(McpTokenStore, "verify", _reads_file_each_time),
            "token/deleting-the-file-rotates-at-restart-only",
        ),
    ),
    *_of(
        "HA-15",
        (
            "leases-persist",
            "Leases outlive the host agent.",
            _replace(agent, "MemoryLeaseStore", _kept_store),
            "restart/leases-vanish-and-the-token-stays",
        ),
    ),
    *_of(
        "HA-23",
        (
            "no-instance-lock",
            "A second host agent starts on the same folder.",
            _replace(InstanceLock, "acquire", _no_lock),
            "instance/a-second-host-agent-refuses",
        ),
        (
            "lock-names-nobody",
            "The refusal does not say whose lock it is.",
            _replace(InstanceLock, "_owner", _names_nobody),
            "instance/a-second-host-agent-refuses",
        ),
        (
            "token-before-lock",
            "The token is made before the lock is taken.",
            _wrap(HostAgent, "__init__", _token_first),
            "instance/the-lock-comes-before-the-token",
        ),
        (
            "lock-survives-kill",
            "The pid file is the lock, so a killed host agent keeps the folder.",
            _wrap(InstanceLock, "acquire", _pid_file_is_the_lock),
            "instance/the-folder-is-free-after-a-kill",
        ),
    ),
]
