"""What do lease servers share in how they speak to a database? Ids as bytes, tokens within bounds, no secret shown."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

FENCE_BELOW = 2**53
"""Numbers of a script in Redis are exact below it. Microseconds since 1970 reach it in the year 2255."""


def as_bytes(text: str) -> bytes:
    """An id as a database may keep it: any text is one, with NUL and lone surrogates, which its own texts may not."""
    return text.encode("utf-8", "surrogatepass")


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def check_fence(seen: int) -> int:
    """Raises ValueError for a fencing token that nothing larger could follow."""
    if not 0 <= seen < FENCE_BELOW:
        raise ValueError(
            f"a device has seen the fencing token {seen}; expected one below 2^53 (ports.LeaseServer.fence_above); "
            "restart the device's rack to make it forget its tokens"
        )
    return seen


def without_password(said: str, url: str) -> str:
    """A library's message without the URL's secrets, should it repeat them."""
    for secret in _secrets(url):
        said = said.replace(secret, "***")
    return said


def shown(url: str) -> str:
    """A URL for people's eyes: scheme, host and path. What stands before an @ may be a secret, well-formed or not."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if rest else scheme.partition(":")[0] + ":..."


def _secrets(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        password = parts.password or ""
    except ValueError:
        return [url]
    # The longest first: one may be a part of another.
    found = {url, password, unquote(password), *(value.partition("=")[2] for value in parts.query.split("&"))}
    return sorted((secret for secret in found if len(secret) > 3), key=lambda secret: (-len(secret), secret))
