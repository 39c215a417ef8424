"""Is this bearer a token of a remote runner? PyJWT checks the signature, the model the claims, our clock the times.

PyJWT reads the machine's clock for `exp` and `nbf`, which no virtual clock moves, and takes a list for `aud`: all its
checks of claims are off, and `trust.runner_door` decides (GW-03).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt

from lasttick.model import trust
from lasttick.model.trust import Admitted
from lasttick.ports import Clock

ALGORITHMS = ("HS256",)
"""The one algorithm of `RUNNER_JWT_SECRET`; above all not `none`."""

SIGNATURE_ONLY = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


class JwtDoor:
    """The runner door. `key` None: none is configured, and the door stays closed."""

    def __init__(self, key: str | None, clock: Clock) -> None:
        self._key = key
        self._clock = clock

    def admit(self, token: str | None) -> Admitted | None:
        """None: closed, whatever was wrong."""
        if token is None or self._key is None:
            return None
        payload = verified_payload(token, self._key)
        return None if payload is None else trust.runner_door(payload, self._clock.wall().timestamp())


def verified_payload(token: str, key: str) -> Mapping[str, Any] | None:
    """The claims of a token whose signature is ours; None for any other text."""
    try:
        return jwt.decode(token, key, algorithms=list(ALGORITHMS), options=SIGNATURE_ONLY)  # type: ignore[arg-type]
    # The library names nearly all that a hostile token can be; whatever it does not name closes the door as well.
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        return None
