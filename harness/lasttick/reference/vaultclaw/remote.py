"""What does a remote source serve, and how does one of its cookbooks get into the catalog?

A fetch is bounded in time, in size (after decompression, as it streams in) and in redirects. The source's token goes
to the origin of its index only (ruling VC-8). Source: contract vaultclaw 17.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from lasttick.model.vaultclaw.bundle import content_hash, invalid, valid_bundle
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse, trim
from lasttick.model.vaultclaw.records import Record
from lasttick.model.vaultclaw.sources import (
    BEARER_ENV,
    REDIRECTS_MAX,
    Origin,
    chosen,
    fetch_failed,
    keeps_token,
    origin,
    remote_index,
    remote_listed,
)
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.dialer import Transports
from lasttick.reference.vaultclaw.inflated import BodyRefused, inflated

FETCH_S = 20.0
BODY_MAX = 16 << 20
SHOWN_MAX = 4_000
"""Characters of a refusal's body that are passed on."""
REDIRECTS = (301, 302, 303, 307, 308)
HEADERS = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "accords-mcp/0.1.0"}


class RemoteSources:
    """The remote sources of one catalog.

    `transports`: asked with None for the way to the network; None is the library's own. `environ`: where tokens come
    from. `learn` is told each token before it is sent, for a server may echo it.
    """

    def __init__(
        self,
        catalog: Catalog,
        transports: Transports | None,
        environ: Mapping[str, str],
        *,
        learn: Callable[[str], None] = lambda token: None,
    ) -> None:
        self._catalog = catalog
        self._transports = transports or (lambda socket: None)
        self._environ = environ
        self._learn = learn

    async def list(self, source_id: str, query: str = "") -> Record:
        """The data of cookbooks_remote_list. Raises ToolFailure."""
        source = await self._catalog.source(source_id)
        index = await self._index(source)
        return {"source_id": source_id, "index": index, "items": remote_listed(index, query)}

    async def install(
        self, source_id: str, cookbook_id: str, version: str = "", policy: str = "", expected_sha256: str = ""
    ) -> Record:
        """The data of cookbook_remote_install. Nothing is written unless all is as promised. Raises ToolFailure."""
        source = await self._catalog.source(source_id)
        selected = chosen((await self._index(source))["items"] or [], cookbook_id, version)
        if selected is None:
            raise _not_served(source_id, cookbook_id, version)
        data = await self._fetch(source, selected["download_url"])
        check_sha256(data, expected_sha256 or selected.get("sha256", ""), source_id, selected)
        bundle = _bundle(data, selected)
        stored = await self._catalog.upsert(bundle, policy)
        install = {
            "source_id": source_id,
            "selected": selected,
            "content_hash": content_hash(bundle),
            "cookbook": stored["cookbook"],
        }
        return {"install": install, "conflict_policy": stored["conflict_policy"]}

    async def _index(self, source: Record) -> Record:
        if not source["enabled"]:
            raise fetch_failed(f"source {source['source_id']!r} is disabled", {"source_id": source["source_id"]})
        return remote_index(await self._fetch(source, source["index_url"]), source["source_id"])

    def _token(self, source: Record) -> str | None:
        """None for a source without one. Raises ToolFailure, before any request: the variable is blank."""
        if source["auth_mode"] != BEARER_ENV:
            return None
        variable = source["auth_env_var"]
        token = trim(self._environ.get(variable, ""))
        if not token or not token.isascii() or not token.isprintable():
            details = {"source_id": source["source_id"], "auth_env_var": variable}
            raise fetch_failed(f"the variable {variable} holds no token", details)
        self._learn(token)
        return token

    async def _fetch(self, source: Record, url: str) -> bytes:
        """The whole body of a 2xx answer, at the end of its redirects."""
        token = self._token(source)
        try:
            async with asyncio.timeout(FETCH_S):
                async with self._transports(None) or httpx.AsyncHTTPTransport() as transport:
                    return await _followed(transport, url, _origin(httpx.URL(source["index_url"])), token)
        except TimeoutError:
            raise _no_answer(url, f"nothing whole came within {FETCH_S:g} s") from None
        except (httpx.TransportError, UnicodeError) as error:  # the resolver's word for a label too long
            raise _no_answer(url, str(error) or type(error).__name__) from None
        except httpx.InvalidURL as error:
            raise fetch_failed(f"{url} can not be fetched: {error}", {"cause": str(error), "url": url}) from None


async def _followed(transport: httpx.AsyncBaseTransport, first: str, own: Origin, token: str | None) -> bytes:
    """GET, and GET again where it leads. Without httpx's client, which would add a URL's credentials and cookies, and
    takes a redirect to what is no URL for a broken connection."""
    url = httpx.URL(first)
    carried = token is not None
    for _ in range(REDIRECTS_MAX + 1):
        carried = keeps_token(own, _origin(url), carried)
        headers = {**HEADERS, "Authorization": f"Bearer {token}"} if carried and token else HEADERS
        response = await transport.handle_async_request(httpx.Request("GET", url, headers=headers))
        try:
            if response.status_code not in REDIRECTS or "location" not in response.headers:
                return await _body(response, first)
            url = url.join(response.headers["location"])
        finally:
            await response.aclose()
    cause = f"redirected more than {REDIRECTS_MAX} times"
    raise fetch_failed(f"{first} {cause}", {"cause": cause, "url": first})


async def _body(response: httpx.Response, url: str) -> bytes:
    try:
        data = await inflated(response.aiter_raw(), response.headers.get("content-encoding", ""), BODY_MAX)
    except BodyRefused as error:
        raise fetch_failed(f"the body of {url} {error}", {"cause": str(error), "url": url}) from None
    if not response.is_success:
        status = response.status_code
        details = {"url": url, "http_status": status, "body": data.decode("utf-8", "replace")[:SHOWN_MAX]}
        raise fetch_failed(f"{url} answered with status {status}", details, retryable=status >= 500)
    return data


def _origin(url: httpx.URL) -> Origin:
    """The origin that is dialled, as the HTTP library reads the URL: two readers could differ, to a thief's delight."""
    found = origin(url.scheme, url.host, url.port)
    if found is None:
        raise httpx.InvalidURL(f"it leads to a URL of scheme {url.scheme[:20]!r}, which is neither http nor https")
    return found


def check_sha256(data: bytes, expected: str, source_id: str, selected: Mapping[str, Any]) -> None:
    """Raises ToolFailure MCP_CATALOG_REMOTE_CHECKSUM_MISMATCH. "" is no checksum, and anything is right."""
    actual = hashlib.sha256(data).hexdigest()
    if not expected or expected.lower() == actual:
        return
    details = {
        "expected_sha256": expected,
        "actual_sha256": actual,
        "source_id": source_id,
        "cookbook_id": selected["cookbook_id"],
        "version": selected["version"],
    }
    raise ToolFailure(
        "MCP_CATALOG_REMOTE_CHECKSUM_MISMATCH",
        f"the download has SHA-256 {actual}; expected {expected} (contract vaultclaw 17); nothing was installed: ask "
        "whoever serves it which of the two is right",
        details,
    )


def _bundle(data: bytes, selected: Mapping[str, Any]) -> Record:
    try:
        value = parse(data)
    except ValueError as error:
        raise invalid("the download is no JSON", "a cookbook bundle", {"cause": str(error)}) from None
    bundle = valid_bundle(value)
    if any(bundle[name] != selected[name] for name in ("cookbook_id", "version")):
        details = {f"index_{name}": selected[name] for name in ("cookbook_id", "version")}
        details |= {f"bundle_{name}": bundle[name] for name in ("cookbook_id", "version")}
        raise invalid(
            "the download is another cookbook than its index says", "the id and version of the index", details
        )
    return bundle


def _no_answer(url: str, cause: str) -> ToolFailure:
    return fetch_failed(f"{url} gave no answer: {cause}", {"cause": cause, "url": url}, retryable=True)


def _not_served(source_id: str, cookbook_id: str, version: str) -> ToolFailure:
    return ToolFailure(
        "MCP_CATALOG_NOT_FOUND",
        f"source {source_id!r} serves no {cookbook_id!r} {version}; expected one of vaultclaw_cookbooks_remote_list; "
        "choose from there",
        {"cookbook_id": cookbook_id, "version": version},
    )
