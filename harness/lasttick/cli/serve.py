"""`lasttick serve` and `lasttick mcp-token`: options checked, then the targets do the work until told to stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lasttick.cli.errors import PASSED, USAGE, UsageError

SECONDS_MAX = 1e9


class Refused(Exception):
    """A part refused to start; the message is its own."""

    exit_code = USAGE


def hostagent(**options: Any) -> int:
    """Fields of `HostAgentOptions`."""
    from lasttick.targets import serve

    for name in ("ttl_s", "heartbeat_s", "max_call_s", "session_idle_s"):
        check_seconds("--" + name.removesuffix("_s").replace("_", "-"), options[name])
    with _refusals():
        serve.run_hostagent(serve.HostAgentOptions(**options))
    return PASSED


def cloud(*, port: int, host: str, heartbeat_s: float, mutant: str | None) -> int:
    from lasttick.targets import serve

    check_seconds("--heartbeat", heartbeat_s)
    with _refusals():
        serve.run_cloud(host=host, port=port, heartbeat_s=heartbeat_s, mutant=mutant)
    return PASSED


def rack(*, port: int, host: str, devices: str, mutant: str | None) -> int:
    from lasttick.targets import serve

    with _refusals():
        serve.run_devices(devices=devices, host=host, port=port, mutant=mutant)
    return PASSED


def print_token(identity_dir: Path | None) -> int:
    from lasttick.targets import serve

    with _refusals():
        print(serve.mcp_token(identity_dir))
    return PASSED


def check_seconds(option: str, value: float) -> None:
    """Raises UsageError for what is no time to wait."""
    if not 0 < value <= SECONDS_MAX:
        raise UsageError(
            f"{option} is {value}", "a number of seconds above 0 and up to 1e9, as in 1.5", f"correct {option}"
        )


@contextmanager
def _refusals() -> Iterator[None]:
    from lasttick.targets.serve import ServeError

    try:
        yield
    except ServeError as error:
        raise Refused(str(error)) from error
