"""The secrets that the parts of a gateway share: drawn for each world, and written in no trace, in no disguise."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lasttick.engine.trace import Redactor
from lasttick.reference.gateway.redaction import disguises, spelled_out

TOKEN_S = 3600


@dataclass(frozen=True, slots=True)
class Secrets:
    """`agent_secret`: AGENT_SERVICE_SECRET; `jwt_key`: RUNNER_JWT_SECRET; `admin_token`: PLATFORM_ADMIN_TOKEN;
    `platform_token`: PLATFORM_API_TOKEN, which is in the agent's container and opens nothing here.
    """

    agent_secret: str = field(repr=False)
    jwt_key: str = field(repr=False)
    admin_token: str = field(repr=False)
    platform_token: str = field(repr=False)

    @classmethod
    def drawn(cls, chance: random.Random) -> Secrets:
        return cls(*(f"{name}-{chance.getrandbits(160):040x}" for name in ("agent", "jwt", "admin", "api")))

    @property
    def environ(self) -> dict[str, str]:
        """As the platform is told."""
        return {
            "AGENT_SERVICE_SECRET": self.agent_secret,
            "RUNNER_JWT_SECRET": self.jwt_key,
            "PLATFORM_ADMIN_TOKEN": self.admin_token,
        }

    def hide(self, redact: Redactor) -> None:
        """From now on the trace has aliases in their place."""
        for secret, alias in (
            (self.agent_secret, "[agent-secret]"),
            (self.jwt_key, "[jwt-key]"),
            (self.admin_token, "[admin-token]"),
            (self.platform_token, "[platform-token]"),
        ):
            hide(redact, secret, alias)


def hide(redact: Redactor, secret: str, alias: str) -> None:
    """From now on the trace has the alias in place of the secret, in whatever disguise."""
    for text in (*disguises(secret), *spelled_out(secret)) if secret else ():
        redact.learn(text, alias)


def runner_token(key: str, wall_s: float, org_id: str | None, claims: Mapping[str, Any]) -> str:
    """A token of the runner door's, signed with `key`. A claim that is None is left out."""
    import jwt

    usual = {"sub": "runner-1", "aud": "runner", "role": "runner", "org_id": org_id, "exp": int(wall_s) + TOKEN_S}
    payload = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    # Not jwt.encode: it refuses claims that it can not have written itself, such as a list of audiences with a number.
    return jwt.PyJWS().encode(json.dumps(payload, separators=(",", ":")).encode(), key, algorithm="HS256")
