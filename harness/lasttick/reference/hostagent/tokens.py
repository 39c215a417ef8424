"""Which bearer token opens `/mcp`, and where does it live?

In `host_mcp_token.json` beside the identity: made once, read at every start, never replaced silently. Deleting the
file makes a new token at the next start and not before. Source: hostagent parts table, HA-03, ruling 15; seed 002, 5.2.
"""

from __future__ import annotations

import base64
import hmac
import logging
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lasttick.ports import Clock, Entropy
from lasttick.reference.hostagent import private_file
from lasttick.reference.hostagent.private_file import PrivateFileError

FILE_NAME = "host_mcp_token.json"
TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
"""What a bearer token may look like in a header (RFC 6750, 2.1)."""

logger = logging.getLogger(__name__)


class McpTokenStoreError(PrivateFileError):
    """The token file is corrupt, too open, or cannot be made: the host agent must not start."""


@dataclass(frozen=True, slots=True)
class McpToken:
    version: int
    token: str = field(repr=False)
    created_at: datetime


class McpTokenStore:
    """The token of one identity folder. `verify` knows it only after `load_or_create`."""

    def __init__(self, path: Path, *, clock: Clock, entropy: Entropy) -> None:
        self.path = path
        self._clock = clock
        self._entropy = entropy
        self._token: McpToken | None = None

    def load_or_create(self) -> McpToken:
        """Read the token, or make it: of several racing processes one makes it, all return the same.

        Logs the path at INFO, never the token. Raises McpTokenStoreError.
        """
        try:
            found = private_file.load_or_create(
                self.path,
                name="token",
                new_value=lambda: token_urlsafe(self._entropy, TOKEN_BYTES),
                pattern=TOKEN,
                clock=self._clock,
            )
        except PrivateFileError as error:
            raise McpTokenStoreError(error.happened, error.expected, error.do) from error
        logger.info("MCP token %s %s", "generated at" if found.fresh else "read from", self.path)
        self._token = McpToken(private_file.VERSION, found.value, found.created_at)
        return self._token

    def verify(self, presented: str) -> bool:
        """Whether this is the token, in constant time. Text that no token can be is False, never an exception."""
        if self._token is None or not presented.isascii():
            return False
        return hmac.compare_digest(presented, self._token.token)


def token_urlsafe(entropy: Entropy, n: int) -> str:
    """`n` unguessable bytes as text, in the manner of `secrets.token_urlsafe`."""
    return base64.urlsafe_b64encode(entropy.token_bytes(n)).rstrip(b"=").decode("ascii")
