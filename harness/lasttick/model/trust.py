"""Who may call a tool: the two doors of the gateway, as pure decisions.

The internal door is for our own agent container, which shares a secret with the platform; the runner door is for remote
runners, which carry a signed token. A closed door says nothing and raises nothing: the guard tries the other one. Which
door admitted is recorded beside the claims and never read out of `sub`, which a token may set to any text.
Source: contract gateway "Parts" (RunnerTokenGuard), rulings 1, 2, 5, 6; GW-01 to GW-03.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Door = Literal["internal", "runner"]

RUNNER = "runner"
"""The one role and the one audience that either door gives or takes."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a door vouches for. `org_id` is the tenant of everything that follows (ruling 5)."""

    sub: str
    org_id: str
    role: str
    aud: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """A caller that passed, and by which door."""

    door: Door
    claims: Claims

    @property
    def user(self) -> dict[str, Any]:
        """The caller as the platform's other parts know it."""
        return {"platformRole": RUNNER, "orgMemberships": [{"orgId": self.claims.org_id}]}


def internal_door(
    *, presented: Sequence[bytes | str], org_id: Any, matches: Callable[[str], bool] | None
) -> Admitted | None:
    """None: this door stays closed.

    `presented` holds every `X-Agent-Secret` header value of the request, `org_id` the body's `orgId` of any JSON type,
    `matches` the configured secret's constant-time comparison, or None when no secret is configured (ruling 6).
    """
    secret = single_secret(presented)
    org = usable_org_id(org_id)
    if matches is None or secret is None or org is None or not matches(secret):
        return None
    return Admitted("internal", Claims(sub=f"internal-agent:{org}", org_id=org, role=RUNNER, aud=RUNNER))


def runner_door(payload: Mapping[str, Any], now_s: float) -> Admitted | None:
    """None: this door stays closed. `payload` is a token's, its signature already checked; `now_s` is our clock's
    wall time in seconds since 1970. `exp` must be there; `nbf` may be; no leeway on either."""
    org = usable_org_id(payload.get("org_id"))
    if org is None or payload.get("aud") != RUNNER or payload.get("role") != RUNNER:
        return None
    if not unexpired(payload.get("exp"), now_s):
        return None
    if "nbf" in payload and not begun(payload["nbf"], now_s):
        return None
    sub = payload.get("sub")
    return Admitted("runner", Claims(sub if isinstance(sub, str) else "", org, RUNNER, RUNNER))


def single_secret(presented: Sequence[bytes | str]) -> str | None:
    """The header's value, if it came exactly once, is not blank and is ASCII. Twice is nobody's honest request."""
    if len(presented) != 1:
        return None
    value = presented[0]
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return value if value.isascii() and value.strip() else None


def usable_org_id(value: Any) -> str | None:
    """The value itself, unstripped, if it is text that is not blank. Text with a lone surrogate is no id of any org:
    it can be neither stored nor sent."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return value


def unexpired(exp: Any, now_s: float) -> bool:
    """Valid while now < exp: at `exp` itself no more (GW-03)."""
    return _is_number(exp) and now_s < exp


def begun(nbf: Any, now_s: float) -> bool:
    """Valid from `nbf` on, that instant included."""
    return _is_number(nbf) and nbf <= now_s


def _is_number(value: Any) -> bool:
    """A JSON number. Infinity, which `1e999` becomes, would be a token that never ends. An int may exceed any float."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
