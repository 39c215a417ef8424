"""One request for a person's yes under test: who asked, what is known of it, what was answered to it, and how it is
given up at the end.

A request may answer at once or only when it is decided, so it is sent in the background; its id comes from whichever of
its answer and `approval.pending` shows its mark first. Source: contract laws, "approval.request", "Subjects".
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lasttick.laws import binding as bindings
from lasttick.laws.judges.approvals import shows
from lasttick.laws.judges.interval import Interval, Span, declared
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Effect, Mark, Said
from lasttick.laws.verdict import NotApplicable, NotShown, Unfound, control
from lasttick.laws.wire.message import WireError

if TYPE_CHECKING:
    from lasttick.laws.caller import Caller
    from lasttick.laws.target import Target

Decision: TypeAlias = Literal["approve", "deny"]
KIND = "approval"
"""What the journal calls a request."""
SHOWN = ("text", "expires")
"""What a row puts out for a person to see; the rest are names of the request."""
READ_EVERY_S = 0.05
ANSWER_S = 1.0
"""How long a request that was given up is waited for."""


@dataclass(frozen=True, slots=True)
class Record:
    """How a request ended, as the target has it. `state`: approved, denied, expired, pending, or a word of its own."""

    said: Said
    state: Any
    by: Any


class Approval:
    """See the head of this file. `decider` reads what a person sees; who decides is said with each decision.

    `mark`: of the effect that is asked for. `names`: all that was put out about it.
    """

    def __init__(self, target: Target, asker: Caller, decider: Caller, mark: Mark | None = None) -> None:
        self.target = target
        self.asker = asker
        self.decider = decider
        self.mark = mark or target.deployment.mark(asker.name)
        self.names: dict[str, Any] = {"mark": self.mark.text}
        self.decided: list[tuple[Decision, Said]] = []
        """Every decision that was said of it, whoever said it."""
        self.resumed: list[Said] = []
        """Every resume with its own mark."""
        self.blocks = False
        """Whether it had no answer yet when it was first seen."""
        self.sent_s: float | None = None
        self.seen_s: float | None = None
        """Just after the first answer that showed it."""
        self._task: asyncio.Task[Said] | None = None
        self._number: int | None = None

    # -- what the asker tells (see caller.Follows)

    def sends(self) -> None:
        self.sent_s = self.target.now_s
        self._number = self.target.deployment.journal.opened(KIND, self.asker.name, self._all(), self._session)

    def learns(self, out: Mapping[str, Any]) -> None:
        self.names |= out
        self._write()

    # -- to ask

    def ask(self) -> None:
        """Send it, beside whatever comes next."""
        timeout_s = self.target.approval.timeout_s
        asking = self.asker.say("approval.request", follow=self, mark=self.mark, timeout=timeout_s)
        self._task = asyncio.ensure_future(asking)

    @property
    def id(self) -> Any:
        return self.names.get("id")

    @property
    def answer(self) -> Said | None:
        """What the asker was answered so far. Raises what its binding raised."""
        is_told = self._task is not None and self._task.done() and not self._task.cancelled()
        return self._task.result() if is_told and self._task is not None else None

    async def answered(self, within_s: float) -> Said | None:
        """The asker's answer, waited for."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=within_s)
        return self.answer

    async def seen(self) -> bool:
        """Wait until it is known, and pending where that can be read; False: it was turned down, or nothing shows it
        within the lag after its answer. One without an answer may be on its way for as long as it can wait.
        """
        while True:
            answer, looked_s = self.answer, self.target.now_s
            if answer is not None and answer.outcome in ("denied", "busy", "error"):
                return False
            if await self._is_shown(answer):
                self.seen_s = self.target.now_s if self.seen_s is None else self.seen_s
                self.blocks = answer is None
                self._write()
                return True
            if looked_s >= self._seen_by_s(answer):
                return False
            await self.target.sleep(READ_EVERY_S)

    @property
    def began(self) -> Span:
        """Between which instants the target took it."""
        assert self.sent_s is not None, "it was sent"
        assert self.seen_s is not None, "it was seen"
        return Span(self.sent_s, self.seen_s)

    # -- to read

    async def entry(self, reader: Caller | None = None) -> tuple[Said, Mapping[str, Any] | None]:
        """What a person sees now, and the row that is about this request; None: there is none."""
        said = await (reader or self.decider).say("approval.pending", self.names, mark=self.mark, id=self.id)
        row = next((row for row in said.each if self._is_about(row)), None)
        if row is not None and (new := {name: row[name] for name in row if name not in (*SHOWN, *self.names)}):
            self.learns(new)  # it may be listed before the asker has its answer
        return said, row

    async def record(self, reader: Caller | None = None) -> Record:
        """How it stands, by `approval.outcome`."""
        reader = reader or self.decider
        said = await reader.say("approval.outcome", self.names, mark=self.mark, id=self.id)
        way = self.target.deployment.way("approval.outcome", reader.spec.route)
        assert way is not None, "it was said"
        return Record(said, bindings.common_state(way.binding, said.out.get("state")), said.out.get("by"))

    async def effect(self) -> Effect | None:
        """What it did, waited for as long as the declared lag allows."""
        return await self.target.effect_with(self.mark)

    async def effects(self) -> list[Effect]:
        """What it has done by now."""
        return await self.target.effects_with(self.mark)

    # -- to decide and go on

    async def decide(self, who: Caller, decision: Decision) -> Said:
        """In the target's own word."""
        way = self.target.deployment.way("approval.decide", who.spec.route)
        word = decision if way is None else way.binding.say.get(decision, decision)
        said = await self.decide_in_words(who, word)
        self.decided.append((decision, said))
        return said

    async def decide_in_words(self, who: Caller, word: str) -> Said:
        """In any word, which may be no decision at all."""
        return await who.say("approval.decide", self.names, mark=self.mark, id=self.id, decision=word)

    @property
    def resumes(self) -> bool:
        """Whether the asker has to go on before anything runs."""
        return self.asker.can("approval.resume")

    async def resume(self, mark: Mark | None = None) -> Said:
        """The asker goes on; `mark`: with another argument than was asked for."""
        said = await self.asker.say("approval.resume", self.names, mark=mark or self.mark, id=self.id)
        if mark is None:
            self.resumed.append(said)
        return said

    def said(self) -> tuple[Said, ...]:
        """Everything that was answered about it, for a verdict."""
        answers = () if self.answer is None else (self.answer,)
        return (*answers, *(said for _, said in self.decided), *self.resumed)

    # -- the end

    async def give_up(self) -> None:
        """Deny what may still be pending; what is not known to have ended stays in the journal."""
        with contextlib.suppress(NotShown, NotApplicable, WireError, asyncio.CancelledError):
            if self._number is not None and await self._is_over():
                self.target.deployment.journal.closed(self._number)
                self._number = None
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=ANSWER_S)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # -- inside

    @property
    def _session(self) -> str | None:
        return self.asker.wire.session_id

    def _all(self) -> dict[str, Any]:
        return {**self.asker.names, **self.names}

    def _write(self) -> None:
        if self._number is not None:
            self.target.deployment.journal.knows(self._number, self._all(), self._session)

    def _seen_by_s(self, answer: Said | None) -> float:
        """From which instant on it would be seen if it were waiting."""
        if answer is not None:
            return answer.answered_s + self.target.lag_s("approval.pending")
        return math.inf if self.sent_s is None else self.sent_s + term(self.target.deployment.profile).low_s

    def _is_about(self, row: Mapping[str, Any]) -> bool:
        if self.id is not None and "id" in row:
            return str(row["id"]) == str(self.id)
        return shows(self.mark, row)

    async def _is_shown(self, answer: Said | None) -> bool:
        if not self.target.bound("approval.pending", self.decider.spec.route):
            return answer is not None and answer.outcome in ("ok", "pending")
        try:
            return (await self.entry())[1] is not None
        except Unfound:
            raise
        except NotShown:
            return False  # the list names something that only the asker's answer tells

    async def _is_over(self) -> bool:
        """Whether the target is known to wait for nobody any more."""
        answer = self.answer
        if answer is not None and answer.refused:
            return True
        if self.decider.over:
            await self.decider.again()
        if await self._is_gone():
            return True
        way = self.target.deployment.way("approval.decide", self.decider.spec.route)
        said = await self.decide_in_words(self.decider, "deny" if way is None else way.binding.say.get("deny", "deny"))
        return said.ok or said.refused or await self._is_gone()

    async def _is_gone(self) -> bool:
        """Whether what was pending is so no longer; where nothing lists it, a decision has ended it."""
        if not self.target.bound("approval.pending", self.decider.spec.route):
            return any(said.ok for _, said in self.decided)
        said, row = await self.entry()
        return said.ok and row is None and self.seen_s is not None


@contextlib.asynccontextmanager
async def asking(target: Target, asker: Caller, decider: Caller, mark: Mark | None = None) -> AsyncIterator[Approval]:
    """A request that was not sent yet; given up at the end in any case. `mark`: of one that was made before."""
    approval = Approval(target, asker, decider, mark)
    target.deployment.approvals.append(approval)
    try:
        yield approval
    finally:
        await asyncio.shield(approval.give_up())


def may_decide(profile: Profile, name: str, asker: str, *, foreign: bool = False) -> bool:
    """Whether a caller decides what another one asks for; `foreign`: whether it decides only for other tenants."""
    spec, tenant = profile.callers[name], profile.callers[asker].tenant
    is_foreign = None not in (spec.tenant, tenant) and spec.tenant != tenant
    return spec.decides and is_foreign == foreign


async def deciders(target: Target, asker: str, *, foreign: bool = False) -> Sequence[Caller]:
    """Everybody who may decide what this caller asks for, connected; `foreign`: those of other tenants instead.

    Raises NotApplicable when there is none of the first, NotShown when one cannot be connected.
    """
    opened = []
    for name in target.deployment.profile.callers:
        if may_decide(target.deployment.profile, name, asker, foreign=foreign):
            caller = target.caller(name)
            said = await caller.open()
            control(said.ok, f"{name} cannot open a session", said)
            opened.append(caller)
    if not opened and not foreign:
        raise NotApplicable("needs a caller that decides (`decides = true`); the profile has none for " + asker)
    return opened


def term(profile: Profile) -> Interval:
    """Within which a request that nobody answers must end, as declared."""
    approval = profile.approval
    lag_s = profile.lag_of("approval.pending")
    return declared(approval.timeout_s or 0.0, tolerance_s=approval.tolerance_s, lag_s=lag_s)
