"""Who is this host to the cloud, and which password opens its console?

Both are made at the first start and kept beside the MCP token. Source: contract world, "Host agent's surface".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lasttick.ports import Clock, Entropy
from lasttick.reference.hostagent import private_file
from lasttick.reference.hostagent.tokens import token_urlsafe

IDENTITY_FILE_NAME = "host_identity.json"
CONSOLE_FILE_NAME = "host_console.json"
HOST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
PASSWORD = re.compile(r".+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HostIdentity:
    version: int
    host_id: str
    created_at: datetime


def load_or_create_identity(folder: Path, *, clock: Clock, entropy: Entropy) -> HostIdentity:
    """The host's identity in `folder`, made once. Raises PrivateFileError."""
    found = private_file.load_or_create(
        folder / IDENTITY_FILE_NAME,
        name="host_id",
        new_value=lambda: f"host-{entropy.token_bytes(8).hex()}",
        pattern=HOST_ID,
        clock=clock,
    )
    return HostIdentity(private_file.VERSION, found.value, found.created_at)


def load_or_create_password(folder: Path, *, clock: Clock, entropy: Entropy) -> str:
    """The console password in `folder`, made once. Raises PrivateFileError."""
    return private_file.load_or_create(
        folder / CONSOLE_FILE_NAME,
        name="password",
        new_value=lambda: token_urlsafe(entropy, 18),
        pattern=PASSWORD,
        clock=clock,
    ).value
