"""What opens one origin is shown to no other. Source: contract laws, catalogue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from lasttick import Target, control, law, must
from lasttick.laws.caller import Caller
from lasttick.laws.judges.secrets import CHARS_MIN, Hit, Searcher, Secret
from lasttick.laws.said import Said
from lasttick.laws.servers.origin import Document, Origin
from lasttick.laws.sources import Fetched, fetched
from lasttick.laws.target import READ_EVERY_S
from lasttick.laws.templates import fill

INDEX, STEP, MOVED, ITEM = "/lasttick/index", "/lasttick/step", "/lasttick/moved", "/lasttick/item"
VERBS = ("source.add", "source.read", "source.remove")


@law("tools/credential-stays-home", verbs=VERBS, seconds=lambda profile: 2.0 + 2 * profile.lag_of("source.read"))
async def test_credential_stays_home(target: Target) -> None:
    """The target fetches from an origin that it has a credential for, which leads to another origin: by a redirect, and
    by the address in an index. The first is shown the credential; the other never is, in any encoding.
    """
    target.needs(*VERBS)
    target.needs_nearness()
    source = target.deployment.profile.source
    credential = Secret("the credential", source.credential or "")
    control(len(credential.value) >= CHARS_MIN, f"the credential is shorter than {CHARS_MIN} characters")
    target.judged = "effects"
    (caller,) = await target.callers(1)
    async with target.origin({}) as home, target.origin({}) as other:
        leads = {"url": other.url + ITEM}
        document = Document(fill(source.index, leads) if source.index is not None else {})
        home.documents |= {INDEX: document, STEP: Document(moved_to=home.url + MOVED)}
        home.documents |= {MOVED: Document(moved_to=other.url + MOVED)}
        other.documents |= {MOVED: Document(moved_to=other.url + INDEX), INDEX: document, ITEM: document}
        searched = Searcher([credential])
        async with _told(caller, home.url + INDEX) as place:
            said = await place.read()
            seen = await _reached(target, home, INDEX)
            control(seen, f"the target did not fetch what it was pointed at; it was {said.answer}", said)
            shown = bool(searched.hits(home.at(INDEX)))
            control(shown, "the origin that the credential is for was not shown it", said)
            if target.bound("source.follow"):
                await _stays(target, place.follow, other, ITEM, searched, "the address in an index")
            else:
                target.case("an index is left out (source.follow is not bound)")
        async with _told(caller, home.url + STEP) as place:
            await _stays(target, place.read, other, INDEX, searched, "a redirect", by=home)


async def _stays(
    target: Target,
    act: Callable[[], Awaitable[Said]],
    other: Origin,
    path: str,
    searched: Searcher,
    what: str,
    by: Origin | None = None,
) -> None:
    """What reached the other origin has no credential in it. A target that follows nobody there shows that, too, once
    it was led there: `by` is the origin that did.
    """
    said = await act()
    arrived = await _reached(target, other, path)
    hits = [hit for request in other.seen() for hit in searched.hits(request)]
    must(not hits, f"{what} carried the credential to another origin, {', '.join(_places(hits))}", said)
    led = arrived or (by is not None and bool(by.at(STEP)))
    control(led, f"the target was not led elsewhere by {what}; it was {said.answer}", said)
    target.case(what if arrived else f"{what} is not followed")


def _places(hits: Sequence[Hit]) -> list[str]:
    return list(dict.fromkeys(f"{hit.encoding}, at {hit.pointer}" for hit in hits))


async def _reached(target: Target, origin: Origin, path: str) -> bool:
    """Whether the target has asked for it, waited for as long as the declared lag allows."""
    deadline_s = target.now_s + target.lag_s("source.read")
    while not origin.at(path) and target.now_s < deadline_s:
        await target.sleep(READ_EVERY_S)
    return bool(origin.at(path))


@asynccontextmanager
async def _told(caller: Caller, url: str) -> AsyncIterator[Fetched]:
    """The target knows the place."""
    async with fetched(caller, url) as place:
        said = await place.add()
        control(said.ok, f"the target cannot be told of a place to fetch from: it was {said.answer}", said)
        yield place
