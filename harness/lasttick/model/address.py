"""Which hosts may be reached, and from where? One rule for who listens and for who sends."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`. Of names only `localhost` counts: others resolve to anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_listed(host: str, port: int | None, allow_hosts: Iterable[str]) -> bool:
    """Whether `allow_hosts` names `host` (lower case): `lab` or `[::1]` at any port, `lab:4700` at that one."""
    shown = f"[{host}]" if ":" in host else host
    return any(entry.lower() in (host, shown, f"{shown}:{port}") for entry in allow_hosts)
