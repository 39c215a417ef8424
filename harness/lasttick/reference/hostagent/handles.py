"""How does a client without a session hold a device? By a lease handle, which its first call on the device returns.

The handle is the only key: whoever presents it is the holder. So it is unguessable, and bound to its device: the holder
it stands for is a digest of both, which lets stores, logs and other clients see the holder and never the handle.
Source: contract hostagent, ruling 7.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from lasttick.model import errors
from lasttick.model.lease import Holder
from lasttick.ports import Entropy
from lasttick.reference.hostagent.tokens import token_urlsafe

META_KEY = "lasttick/lease-handle"
"""In a result's `_meta`: yours from now on. In a request's `_meta`: mine since an earlier call."""
HANDLE_BYTES = 32
HANDLE = re.compile(r"[!-~]{1,200}")
"""What may be one, ours or not: printable, without blanks or newlines."""


def mint(entropy: Entropy) -> str:
    """A new handle, 43 characters that a URL may hold."""
    return token_urlsafe(entropy, HANDLE_BYTES)


def holder_of_handle(handle: str, device_id: str) -> Holder:
    """Who holds `device_id` by this handle; somebody else for every other device."""
    digest = hashlib.sha256(f"{handle}\n{device_id}".encode("utf-8", "surrogatepass")).hexdigest()
    return Holder("mcp", digest)


def presented(meta: Mapping[str, Any] | None) -> str | None:
    """The handle of a request, None when it has none. Raises ToolError `bad_arguments`."""
    handle = (meta or {}).get(META_KEY)
    if handle is None:
        return None
    if not isinstance(handle, str) or not HANDLE.fullmatch(handle):
        what = f"a text of {len(handle)} characters" if isinstance(handle, str) else f"of type {type(handle).__name__}"
        raise errors.bad_arguments(
            "tools/call",
            f"_meta {META_KEY}",
            what,
            "the lease handle that a result's _meta gave, unchanged",
            "contract hostagent, ruling 7",
        )
    return handle
