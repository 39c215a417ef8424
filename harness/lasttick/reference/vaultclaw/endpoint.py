"""Where is the vault? A base URL, or a Unix socket that is behind it.

Source: contract vaultclaw 8 (first paragraph).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlencode

import httpx

LOCALHOST = "http://localhost"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`base_url` without trailing slashes; `socket_path`: the Unix socket to dial, None for TCP."""

    base_url: str
    socket_path: str | None = None

    def url(self, path: str, query: Mapping[str, str] | None) -> httpx.URL:
        """Keys sorted, form-encoded. Raises ValueError: nothing that can be dialled."""
        question = f"?{urlencode(sorted(query.items()))}" if query else ""
        try:
            url = httpx.URL(self.base_url + path + question)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise ValueError(str(error)) from error
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("it is no http:// or https:// URL with a host")
        if not 0 < (url.port or 1) < 65_536:
            raise ValueError(f"its port is {url.port}, which is none")
        return url


def endpoint_of(base_url: str, *, socket_path: str | None, home: str) -> Endpoint:
    """Where `base_url` leads. `socket_path`: that of the environment's variable, None if there is none.

    A `unix://PATH` or `http+unix://PERCENT-ENCODED-PATH` beats the variable; the variable beats any other URL. Raises
    ValueError: a socket URL without a path.
    """
    base = base_url.strip().rstrip("/")
    scheme, _, rest = base.partition("://")
    if scheme.lower() in ("unix", "http+unix"):
        path = rest if scheme.lower() == "unix" else unquote(rest)
        if not path:
            raise ValueError("it names no socket")
        return Endpoint(LOCALHOST, _at_home(path, home))
    return Endpoint(base, None if socket_path is None else _at_home(socket_path, home))


def _at_home(path: str, home: str) -> str:
    return f"{home.rstrip('/')}/{path[2:]}" if path.startswith("~/") and home else path
