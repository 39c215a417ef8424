"""`lasttick serve` and `lasttick mcp-token`: options checked, then the targets do the work until told to stop."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
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


def gateway(*, trial: bool, **options: Any) -> int:
    """Fields of `PlatformOptions`. `trial`: with an agent and the fakes around it."""
    from lasttick.targets.gateway import serve
    from lasttick.targets.gateway.trial import run_trial

    for name in ("upstream_s", "turn_s"):
        check_seconds("--" + name.removesuffix("_s"), options[name])
    run = run_trial if trial else serve.run_platform
    with _refusals():
        run(serve.PlatformOptions(**options), serve.own_environ())
    return PASSED


def agent(**options: Any) -> int:
    """Fields of `AgentOptions`."""
    from lasttick.targets.gateway import serve

    check_seconds("--turn", options["turn_s"])
    with _refusals():
        serve.run_agent(serve.AgentOptions(**options), serve.own_environ())
    return PASSED


def humanwork(*, mutant: str | None) -> int:
    from lasttick.targets.gateway import serve

    with _refusals():
        return serve.run_humanwork(serve.own_environ(), mutant=mutant)


def model(*, port: int, host: str) -> int:
    from lasttick.targets.gateway import serve

    with _refusals():
        serve.run_model(host=host, port=port)
    return PASSED


def third_party(*, port: int, host: str) -> int:
    from lasttick.targets.gateway import serve

    with _refusals():
        serve.run_third_party(host=host, port=port)
    return PASSED


def lineup(**options: Any) -> int:
    """Fields of `AdapterOptions`."""
    from lasttick.targets.lineup import serve

    for option in ("response_timeout", "permission_life"):
        if options[f"{option}_s"] is not None:
            check_seconds(f"--{option.replace('_', '-')}", options[f"{option}_s"])
    with _refusals():
        serve.run_lineup(serve.AdapterOptions(**options), dict(os.environ))
    return PASSED


def hermes(*, version: str | None) -> int:
    from lasttick.targets.lineup import serve

    with _refusals():
        return serve.run_hermes(dict(os.environ), version=version)


def chat_host(*, adapter: str, port: int, host: str) -> int:
    from lasttick.targets.lineup import serve

    with _refusals():
        serve.run_host(adapter=adapter, host=host, port=port)
    return PASSED


def vaultclaw(*, mutant: str | None) -> int:
    from lasttick.targets.vaultclaw import serve

    with _refusals():
        return serve.run_vaultclaw(dict(os.environ), mutant=mutant)


def vaultd(*, port: int, host: str, unix: Path | None, state: Path | None) -> int:
    from lasttick.targets.vaultclaw import serve

    with _refusals():
        serve.run_vaultd(host=host, port=port, unix=unix, state=state)
    return PASSED


def catalog(*, port: int, host: str) -> int:
    from lasttick.targets.vaultclaw import serve

    with _refusals():
        serve.run_catalog(host=host, port=port)
    return PASSED


def recorder(*, port: int, host: str) -> int:
    from lasttick.laws.servers import serving

    with _refusals():
        serving.run_recorder(host=host, port=port)
    return PASSED


def hop(
    *,
    to: str,
    add_headers: Sequence[str],
    drop_headers: Sequence[str],
    cut_idle_s: float | None,
    buffer_sse: bool,
    delay_s: float,
    sticky: bool,
    allow_hosts: Sequence[str],
    port: int,
    host: str,
) -> int:
    from lasttick.laws.servers import serving
    from lasttick.laws.servers.hop_options import HopOptions

    if cut_idle_s is not None:
        check_seconds("--cut-idle", cut_idle_s)
    if delay_s:
        check_seconds("--delay", delay_s)
    options = HopOptions(
        to=tuple(url.strip() for url in to.split(",")),
        add_headers=tuple(_header(text) for text in add_headers),
        drop_headers=tuple(drop_headers),
        cut_idle_s=cut_idle_s,
        buffer_sse=buffer_sse,
        delay_s=delay_s,
        sticky=sticky,
    )
    with _refusals():
        serving.run_hop(options, allow_hosts=allow_hosts, host=host, port=port)
    return PASSED


def dummy(*, kind: str, port: int, host: str) -> int:
    from lasttick.laws.servers import serving
    from lasttick.laws.servers.dummies import KINDS

    if kind not in KINDS:
        raise UsageError(f"no dummy {kind!r}", f"one of {', '.join(KINDS)} (contract laws, Dummies)", "choose one")
    with _refusals():
        serving.run_dummy(kind, host=host, port=port)
    return PASSED


def _header(text: str) -> tuple[str, str]:
    """`NAME=VALUE`. Raises UsageError."""
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--add-header is {text!r}", "NAME=VALUE, as in x-tenant=blue", "correct --add-header")
    return name, value


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
