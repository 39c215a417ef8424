"""What does the environment say of a smoke run? Read once, and refused at once when it makes no sense.

Source: requirements of system VC, VC-22.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WHERE = "requirement VC-22"
BASE_URL = "http://127.0.0.1:8787"
"""Of the smoke suite only; the server's own default is another port."""
SOCKET_BASE_URL = "http://localhost"
WAIT_TIMEOUT_MS = 600_000
POLL_INTERVAL_MS = 1_500
MS_MAX = 3_600_000
DENY = "DENY"


class SmokeRefused(Exception):
    """The suite cannot be run as asked: what happened, what was expected, what to do next."""

    exit_code = 2

    def __init__(self, what: str, expected: str, next_step: str) -> None:
        super().__init__(f"{what}\n  expected: {expected}\n  next: {next_step}")


class SmokeUnreachable(SmokeRefused):
    """The server or the vault does not answer."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """`manual`: play the group that needs a person at the vault. `unix_socket` "": TCP, at `base_url`."""

    token: str = field(repr=False)
    base_url: str = BASE_URL
    unix_socket: str = ""
    manual: bool = False
    wait_timeout_ms: int = WAIT_TIMEOUT_MS
    poll_interval_ms: int = POLL_INTERVAL_MS


def read(environ: Mapping[str, str]) -> Settings:
    """The settings of an environment; a blank variable counts as unset. Raises SmokeRefused."""
    env = {name: value.strip() for name, value in environ.items()}
    outcome = env.get("VC_SMOKE_EXPECT_OUTCOME") or DENY
    if outcome != DENY:
        raise SmokeRefused(
            f"VC_SMOKE_EXPECT_OUTCOME is {outcome!r}",
            f"{DENY}: a smoke run has nothing allowed ({WHERE})",
            "unset it",
        )
    manual = env.get("VC_SMOKE_MANUAL_APPROVAL") or "0"
    if manual not in ("0", "1"):
        raise SmokeRefused(f"VC_SMOKE_MANUAL_APPROVAL is {manual!r}", f"0 or 1 ({WHERE})", "set it to one of them")
    token = env.get("VC_AGENT_TOKEN", "")
    if not token:
        raise SmokeRefused(
            "VC_AGENT_TOKEN is not set",
            f"the token of an agent that the vault knows ({WHERE})",
            "set it; `lasttick serve vaultd` knows vc-agent",
        )
    unix_socket = env.get("VC_UNIX_SOCKET", "")
    return Settings(
        token,
        env.get("VC_BASE_URL") or (SOCKET_BASE_URL if unix_socket else BASE_URL),
        unix_socket,
        manual == "1",
        _ms(env, "VC_SMOKE_WAIT_TIMEOUT_MS", WAIT_TIMEOUT_MS),
        _ms(env, "VC_SMOKE_POLL_INTERVAL_MS", POLL_INTERVAL_MS),
    )


def _ms(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if text.isascii() and text.isdigit() and len(text) <= len(str(MS_MAX)) and 0 < int(text) <= MS_MAX:
        return int(text)
    raise SmokeRefused(f"{name} is {text!r}", f"whole milliseconds from 1 to {MS_MAX} ({WHERE})", "correct it")
