"""Which secrets came out in a run, and where? Judged over all that was said, pure; a message never holds a value.

Source: contract laws, catalogue, tools/no-secret-out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lasttick.laws.judges.secrets import ENCODINGS, Searcher, Secret, leaves, written
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.reply import Reply
from lasttick.laws.said import Effect, Mark, Said
from lasttick.laws.templates import names_in

SESSION_ID = "mcp-session-id"
READINGS = {"effects": "effects", "log": "log"}
PARTS = ("headers", "body", "error", "meta", "lines", "events", "raw")
CANARY = "canary+that/sings=in~every:place"


@dataclass(frozen=True, slots=True)
class Leak:
    """`where` names verb, caller and place; `known_to`: who was given this secret by the target itself."""

    secret: str
    encoding: str
    where: str
    known_to: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.secret}, {self.encoding}, in {self.where}"


def kind_of(said: Said) -> str:
    """The kind of place that an answer is: list, ok, refusal, error, effects or log; "" when none came."""
    if said.reply.lost is not None or said.verb in ("session.vanish", "session.borrow"):
        return ""
    if said.verb in READINGS:
        return READINGS[said.verb]
    if said.refused:
        return "refusal"
    if not said.ok and said.outcome != "pending":
        return "error"
    return "list" if said.verb in ("tools.list", "lease.holder", "approval.pending") else "ok"


def issued(profile: Profile, history: Sequence[Said]) -> list[Secret]:
    """What the target itself gave out that opens a session: its id, and outputs that later travel in a header."""
    in_headers = _names_in_headers(profile)
    given: dict[str, Secret] = {}
    for said in history:
        if said.verb == "session.open" and said.ok:
            outputs = {f"output {name}": value for name, value in said.out.items() if name in in_headers}
            for name, value in {"id": said.reply.headers.get(SESSION_ID), **outputs}.items():
                if isinstance(value, str) and value:
                    known = given.get(value, Secret(f"{name} of session {said.session}", value))
                    given[value] = replace(known, known_to=(*known.known_to, said.caller))
        elif said.verb == "session.borrow":
            for value, secret in given.items():
                if said.inputs.get("of") in secret.known_to:
                    given[value] = replace(secret, known_to=(*secret.known_to, said.caller))
    return list(given.values())


def leaks(secrets: Sequence[Secret], history: Sequence[Said], effects: Sequence[Effect]) -> list[Leak]:
    """Every place of the run where a secret is that has no business there."""
    searcher = Searcher(secrets)
    found = []
    for kind, said in _searched(history):
        for hit in searcher.hits(document_of(said.reply)):
            # A log is read by others than the caller who asks for it.
            if kind in READINGS.values() or said.caller not in hit.secret.known_to:
                found.append(Leak(hit.secret.name, hit.encoding, _where(kind, said, hit.pointer), hit.secret.known_to))
    for hit in searcher.hits(_rows(effects)):
        found.append(Leak(hit.secret.name, hit.encoding, f"what reached the resource, {hit.pointer}"))
    return found


def document_of(reply: Reply) -> dict[str, Any]:
    """All that came back. What a person is shown comes last: it may hold what no other part has, and is cut short."""
    return {**reply.document(), "raw": reply.raw}


def shows(document: Any, mark: Mark) -> bool:
    """Whether a call's mark is seen where secrets are looked for."""
    return any(mark.is_in(text) or text == str(mark.number) for _, text in leaves(document))


def unseen_canaries(history: Sequence[Said], effects: Sequence[Effect]) -> list[str]:
    """Where a canary would not be found: planted in a real answer of each kind, in each part and each encoding."""
    canary = Secret("canary", CANARY)
    firsts: dict[str, Said] = {}
    for kind, said in _searched(history):
        firsts.setdefault(kind, said)
    unseen = []
    for encoding in ENCODINGS:
        planted = written(CANARY)[encoding]
        for kind, said in firsts.items():
            for part in PARTS:
                bad = replace(said, caller="canary", reply=_planted(said.reply, part, planted))
                if not _found(canary, encoding, leaks([canary], [bad], [])):
                    unseen.append(f"{kind} /{part}, {encoding}")
        for effect in effects[:1]:
            bad_effect = replace(effect, row={**effect.row, "canary": planted})
            if not _found(canary, encoding, leaks([canary], [], [bad_effect])):
                unseen.append(f"effects, {encoding}")
    return unseen


def _rows(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    return [dict(effect.row) for effect in effects]


def _found(canary: Secret, encoding: str, found: Sequence[Leak]) -> bool:
    return any(leak.secret == canary.name and leak.encoding == encoding for leak in found)


def _planted(reply: Reply, part: str, text: str) -> Reply:
    now: Any = getattr(reply, part)
    planted: Any = [now, text]
    if isinstance(now, Mapping):
        planted = {**now, "canary": text}
    elif isinstance(now, tuple):
        planted = (*now, text)
    elif part == "raw":
        planted = f"{now} {text}"
    return replace(reply, **{part: planted})


def _searched(history: Sequence[Said]) -> Iterator[tuple[str, Said]]:
    """Every answer, and of a log the last reading only, which has all that the others had."""
    last = {said.verb: said.number for said in history if kind_of(said) in READINGS.values() and said.ok}
    for said in history:
        kind = kind_of(said)
        if kind and (not said.ok or last.get(said.verb, said.number) == said.number):
            yield kind, said


def _where(kind: str, said: Said, pointer: str) -> str:
    what = {"list": "the list", "ok": "the answer", "refusal": "the refusal", "error": "the error"}.get(kind, "")
    law = f"answer {said.number}, {said.law}"
    if not what:
        return f"what {said.verb} shows, {pointer} ({law})"
    return f"{what} of {said.verb} to {said.caller}, {pointer} ({law})"


def _names_in_headers(profile: Profile) -> tuple[str, ...]:
    verbs = [profile.bound_verbs(), *(route.bound_verbs() for route in profile.routes.values())]
    bindings = [binding for bound in verbs for binding in bound.values()]
    parts = [*bindings, *(binding.poll for binding in bindings if binding.poll is not None)]
    return tuple(name for part in parts for name in names_in(part.headers))
