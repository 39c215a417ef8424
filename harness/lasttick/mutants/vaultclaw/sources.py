"""Wrong versions of remote sources: whom they show a token, how much they read, and what they install."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from lasttick.model.vaultclaw.bundle import valid_bundle
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse
from lasttick.model.vaultclaw.sources import Origin
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import remote
from lasttick.reference.vaultclaw.catalog.catalog import OVERWRITE
from lasttick.reference.vaultclaw.remote import RemoteSources

REMOTE = "vaultclaw/remote/"
HOSTILE = "vaultclaw/remote-hostile/"


def always(own: Origin, at: Origin, before: bool) -> bool:
    """The token goes wherever the index says or leads to."""
    return True


def at_home(own: Origin, at: Origin, before: bool) -> bool:
    """Back at its origin, the token is shown again, to whoever sent us there."""
    return at == own


def any_host_of_the_scheme(own: Origin, at: Origin, before: bool) -> bool:
    """Ports of one host are all the same."""
    return before and (at.scheme, at.host) == (own.scheme, own.host)


def never_mind(data: bytes, expected: str, source_id: str, selected: Mapping[str, Any]) -> None:
    """The sum is not looked at."""


def as_it_came(right: Any) -> Callable[..., Any]:
    """What was downloaded is installed, whatever its id."""

    def _bundle(data: bytes, selected: Mapping[str, Any]) -> Any:
        try:
            return valid_bundle(parse(data))
        except ValueError:
            return right(data, selected)

    return _bundle


def stores_first(right: Any) -> Callable[..., Any]:
    """The sum is compared after the download is stored."""

    async def install(self: RemoteSources, source_id: str, *rest: Any) -> Any:
        async def _fetch(source: Any, url: str) -> bytes:
            data = await RemoteSources._fetch(self, source, url)
            if url != source["index_url"]:
                with suppress(ValueError, ToolFailure):
                    await self._catalog.upsert(parse(data), OVERWRITE)
            return data

        vars(self)["_fetch"] = _fetch
        try:
            return await right(self, source_id, *rest)
        finally:
            del vars(self)["_fetch"]

    return install


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/token-follows-download-url",
        breaks="VC-17",
        ruling=8,
        text="a source's token goes wherever its index lists a download or leads to",
        killed_by=HOSTILE + "only-the-indexs-origin-sees-the-token",
        patch=lambda seam: seam.replace(remote, "keeps_token", always),
    ),
    Mutant(
        "vaultclaw/dropped-token-comes-back",
        breaks="VC-17",
        ruling=8,
        text="a chain that left the token's origin and comes back carries the token again",
        killed_by=HOSTILE + "only-the-indexs-origin-sees-the-token",
        patch=lambda seam: seam.replace(remote, "keeps_token", at_home),
    ),
    Mutant(
        "vaultclaw/token-goes-to-every-port",
        breaks="VC-17",
        ruling=8,
        text="another port of the same host is taken for the same origin",
        killed_by=HOSTILE + "a-download-elsewhere-goes-without-the-token",
        patch=lambda seam: seam.replace(remote, "keeps_token", any_host_of_the_scheme),
    ),
    Mutant(
        "vaultclaw/unbounded-download",
        breaks="VC-17",
        ruling=8,
        text="a body is read to its end, however long it unfolds",
        killed_by=HOSTILE + "a-body-without-an-end-is-left-at-its-bound[bomb]",
        patch=lambda seam: seam.replace(remote, "BODY_MAX", 1 << 40),
    ),
    Mutant(
        "vaultclaw/redirects-without-end",
        breaks="VC-17",
        ruling=8,
        text="a chain of redirects is followed for hundreds of steps",
        killed_by=HOSTILE + "a-chain-without-an-end-is-left",
        patch=lambda seam: seam.replace(remote, "REDIRECTS_MAX", 300),
    ),
    Mutant(
        "vaultclaw/checksum-ignored",
        breaks="VC-17",
        text="a download is installed whatever its checksum",
        killed_by=REMOTE + "a-wrong-checksum-leaves-the-catalog-byte-identical",
        patch=lambda seam: seam.replace(remote, "check_sha256", never_mind),
    ),
    Mutant(
        "vaultclaw/checksum-after-the-write",
        breaks="VC-17",
        text="a download is stored before its checksum is compared",
        killed_by=REMOTE + "a-wrong-checksum-leaves-the-catalog-byte-identical",
        patch=lambda seam: seam.wrap(RemoteSources, "install", stores_first),
    ),
    Mutant(
        "vaultclaw/download-of-another-id",
        breaks="VC-17",
        text="a download is installed under its own id, whichever was asked for",
        killed_by=REMOTE + "a-download-that-is-not-what-was-promised-is-not-installed[another id]",
        patch=lambda seam: seam.wrap(remote, "_bundle", as_it_came),
    ),
    Mutant(
        "vaultclaw/source-waits-for-ever",
        breaks="VC-17",
        text="a source that takes its time is waited for as long as it takes",
        killed_by=HOSTILE + "a-slow-source-is-waited-for-20-s-in-all",
        patch=lambda seam: seam.replace(remote, "FETCH_S", 1e9),
    ),
]
