"""One prompt at a time for a conversation: user texts and results wait in one queue, because the agent would run a
second prompt inside of the first. What became of each turn is in the ledger; what is in doubt, the person is told.

Source: contract lineup C-5, C-6; rule 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from lasttick.model.errors import shown
from lasttick.model.lineup import instructions, states
from lasttick.model.lineup.blocks import chunk_text, joined
from lasttick.model.lineup.frames import CANCEL, MESSAGE, Message
from lasttick.model.lineup.records import Inventory, PromptEnd, Source
from lasttick.reference.lineup import replies
from lasttick.reference.lineup.agent_process import AgentProcess, ProcessEvents
from lasttick.reference.lineup.cards_open import NS_PER_S, OpenCards
from lasttick.reference.lineup.conversation import Conversation, Item, Quiet, ResultItem, Turn, UserText, is_stuck
from lasttick.reference.lineup.ledger import CANCEL_TURN, PROMPT, REFUSED, TOLD, UPDATE
from lasttick.reference.lineup.links import AgentGone, AgentLink
from lasttick.reference.lineup.workshop import Later, Workshop

OF_SESSION: Final[tuple[Source, ...]] = ("permission", "model")
"""Cards that end with the session; a question of the gateway has nothing to do with it."""
INTERNAL_ERROR: Final = -32603
NOT_KEPT: Final = (
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "usage_update",
    "available_commands_update",
    "session_info_update",
)
"""Updates that the ledger does not repeat: the reply is kept whole, with the end of its prompt."""
AGENT_GONE: Final = "turn lost: the agent ended; send the message again"
NOT_STARTED: Final = "the agent could not be started ({reason}); send the message again"
RESULT_WAITS: Final = "the agent could not be started ({reason}); your answer is kept and sent with the next turn"
NEVER_RAN: Final = "turn lost: the agent's session was stuck and did not run it; send the message again"
TRIES: Final = 2
"""For what was not sent yet: an agent that ended while nobody used it is only noticed now."""


class Turns:
    """All conversations of one adapter, and its agent process."""

    def __init__(self, shop: Workshop, agent_factory: Callable[[], AgentLink], response_timeout_s: float) -> None:
        self.inventory = Inventory()
        self._shop = shop
        self._factory = agent_factory
        self._timeout_ns = round(response_timeout_s * NS_PER_S)
        self._conversations: dict[str, Conversation] = {}
        self._process: AgentProcess | None = None
        self._had_process = False
        self._starting = asyncio.Lock()
        self._events: ProcessEvents
        self._takes_text: Callable[[str, str, Later], bool]
        self.cards = OpenCards(shop, self)

    def listen(self, events: ProcessEvents, takes_text: Callable[[str, str, Later], bool]) -> None:
        """Who hears what a process says. `takes_text`(conversation_id, text, later): whether a text of the person is
        the answer to a question that was asked as text, and so none for the agent."""
        self._events = events
        self._takes_text = takes_text

    def conversation(self, id_: str) -> Conversation:
        if id_ not in self._conversations:
            taken = self._shop.ledger.message_ids(id_)
            self._conversations[id_] = Conversation(id_, Quiet(self._timeout_ns), taken)
        return self._conversations[id_]

    async def stop(self) -> None:
        if self._process is not None:
            await self._process.stop()

    # -- what the host wants

    def said(self, message: Message) -> None:
        conversation = self.conversation(message.conversation_id)
        payload = {"message_id": message.message_id, "text": message.text}
        if message.message_id in conversation.taken:
            with self._shop.writing("message repeated"):
                body = {"reason": "repeated message_id", "payload": payload}
                self._shop.ledger.message(conversation.id, "in", "host", REFUSED, body)
            return
        with self._shop.writing("message") as later:
            seq = self._shop.ledger.message(conversation.id, "in", "host", MESSAGE, payload)
            later.append(lambda: conversation.taken.add(message.message_id))
            if self._takes_text(conversation.id, message.text, later):
                self._shop.ledger.message(conversation.id, "in", "adapter", TOLD, {"turn": seq, "text": "answered"})
            else:
                later.append(lambda: self.enqueue(conversation, UserText(seq, message.text)))

    def cancel(self, conversation_id: str) -> None:
        """The person stops the running turn, and takes back every question of this session."""
        conversation = self.conversation(conversation_id)
        with self._shop.writing("user cancel") as later:
            self._shop.ledger.message(conversation_id, "in", "host", CANCEL, {})
            self._close_all(later, conversation, "user_cancel")
            if conversation.turn is not None:
                self._cancel(later, conversation, conversation.turn)

    def enqueue(self, conversation: Conversation, item: Item) -> None:
        conversation.queue.append(item)
        self.work(conversation)

    def work(self, conversation: Conversation) -> None:
        """Begin the next turn, unless one is on its way. It can be cancelled from here on."""
        if conversation.turn is None and conversation.queue:
            conversation.turn = Turn(conversation.queue.popleft())
            self._shop.spawn(self._work(conversation, conversation.turn))

    # -- what the agent says

    def heard(self, conversation_id: str) -> None:
        """A frame of its session, of whatever kind."""
        self.conversation(conversation_id).quiet.frame(self._shop.clock.now_ns())

    def updated(self, conversation_id: str, update: Mapping[str, Any]) -> None:
        conversation = self.conversation(conversation_id)
        self.heard(conversation_id)
        if conversation.turn is not None and conversation.turn.is_prompted:
            conversation.turn.chunks.append(chunk_text(update))
        if update.get("sessionUpdate") not in NOT_KEPT:
            with self._shop.writing("update"):
                self._shop.ledger.message(conversation_id, "in", "agent", UPDATE, dict(update))

    def gone(self, process: AgentProcess, reason: str) -> None:
        """The process ended, and every session with it."""
        if process is self._process:
            self._process = None
        self._shop.spawn(process.stop())
        for conversation_id in process.conversations():
            conversation = self.conversation(conversation_id)
            with self._shop.writing("agent gone") as later:
                turn = conversation.turn
                if turn is not None and turn.is_prompted and not turn.is_over:
                    self._end(later, conversation, turn, {"end": "agent gone", "reason": reason})
                    text = AGENT_GONE if isinstance(turn.item, UserText) else instructions.NOT_REPEATED
                    self._shop.tell(conversation_id, text, **turn.item.about)
                self._replace(later, conversation, process)

    # -- Watcher

    def held(self, conversation_id: str) -> None:
        self.conversation(conversation_id).quiet.hold()

    def released(self, conversation_id: str) -> None:
        conversation = self.conversation(conversation_id)
        conversation.quiet.release(self._shop.clock.now_ns())
        conversation.counts_again.set()

    # -- one after another

    async def _work(self, conversation: Conversation, turn: Turn) -> None:
        goes_on = await self._run(conversation, turn)
        conversation.turn = None
        if goes_on:
            self.work(conversation)

    async def _run(self, conversation: Conversation, turn: Turn) -> bool:
        """One turn to its end, whatever that is. False: the agent cannot be had; the rest of the queue waits."""
        try:
            process, session_id = await self._session(conversation)
        except AgentGone as error:
            return self._not_started(conversation, turn, str(error))
        if turn.is_cancelled and isinstance(turn.item, UserText):
            with self._shop.writing("prompt withdrawn") as later:
                self._end(later, conversation, turn, {"end": "cancelled"})
            return True
        texts = self._begin(conversation, turn, session_id)
        await self._prompt(conversation, turn, process, session_id, texts)
        return True

    async def _session(self, conversation: Conversation) -> tuple[AgentProcess, str]:
        """The conversation's session; if need be a new one, of a new process. Raises AgentGone."""
        for tries_left in reversed(range(TRIES)):
            process: AgentProcess | None = None
            try:
                process = await self._started()
                session_id = process.session_of(conversation.id)
                if session_id is None:
                    session_id = await process.new_session(conversation.id)
                    conversation.told = None
                return process, session_id
            except AgentGone as error:
                if process is not None:
                    process.gone(str(error))
                if not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _started(self) -> AgentProcess:
        async with self._starting:
            if self._process is None:
                if self._had_process:
                    self._shop.begin_epoch()
                self._had_process = True
                process = AgentProcess(self._factory(), self._shop, self._events)
                try:
                    await process.start()
                except AgentGone:
                    await process.stop()
                    raise
                self._process = process
            return self._process

    def _not_started(self, conversation: Conversation, turn: Turn, reason: str) -> bool:
        with self._shop.writing("agent not started") as later:
            if isinstance(turn.item, UserText):
                self._end(later, conversation, turn, {"end": "not started", "reason": reason})
                self._shop.tell(conversation.id, NOT_STARTED.format(reason=shown(reason)), **turn.item.about)
                return True
            self._shop.say(conversation.id, "system", RESULT_WAITS.format(reason=shown(reason)))
        conversation.queue.appendleft(turn.item)
        return False

    def _begin(self, conversation: Conversation, turn: Turn, session_id: str) -> list[str]:
        item, inventory = turn.item, self.inventory
        front = [] if conversation.told == inventory else [instructions.instructions(inventory)]
        if isinstance(item, UserText):
            texts = instructions.prompt_texts(item.text, [*front, *conversation.notices])
            is_alone = instructions.sent_alone(item.text)
            takes_notices = not is_alone
        else:
            texts = [*front, instructions.result_prompt(item.call_id, item.result)]
            is_alone = takes_notices = False
        with self._shop.writing("prompt"):
            body = {"session_id": session_id, "texts": texts, **item.about}
            self._shop.ledger.message(conversation.id, "out", "agent", PROMPT, body)
            if isinstance(item, ResultItem):
                self._shop.ledger.prompt_started(item.call_id)
        if not is_alone:
            conversation.told = inventory
        if takes_notices:
            conversation.notices.clear()
        turn.is_prompted = True
        conversation.quiet.frame(self._shop.clock.now_ns())
        return texts

    async def _prompt(
        self, conversation: Conversation, turn: Turn, process: AgentProcess, session_id: str, texts: list[str]
    ) -> None:
        prompt = self._shop.spawn(process.prompt(session_id, texts))
        watch = self._shop.spawn(self._too_quiet(conversation))
        try:
            await asyncio.wait((prompt, watch), return_when=asyncio.FIRST_COMPLETED)
            if not prompt.done():
                self._timed_out(conversation, turn, process, session_id)
            elif not turn.is_over:
                self._answered(conversation, turn, process, prompt.result())
            else:
                prompt.exception()
        except AgentGone as error:
            process.gone(str(error))
        finally:
            prompt.cancel()
            watch.cancel()

    async def _too_quiet(self, conversation: Conversation) -> None:
        """Returns when the agent has said nothing for too long."""
        clock, quiet = self._shop.clock, conversation.quiet
        while (left_ns := quiet.left_ns(clock.now_ns())) is None or left_ns > 0:
            if left_ns is None:
                conversation.counts_again.clear()
                await conversation.counts_again.wait()
            else:
                await clock.sleep(left_ns / NS_PER_S)

    # -- how a turn ends

    def _answered(self, conversation: Conversation, turn: Turn, process: AgentProcess, end: PromptEnd) -> None:
        text = joined(turn.chunks)
        said = {"stop_reason": end.stop_reason, "error_code": end.error_code, "has_usage": end.has_usage, "text": text}
        stuck = is_stuck(turn.item, end, text)
        breaks = turn.is_cancelled and end.error_code == INTERNAL_ERROR
        if breaks:  # one of the two ways in which a cancel ends (rule 5); the other is this one
            end = PromptEnd("cancelled")
        with self._shop.writing("prompt end") as later:
            seq = self._end(later, conversation, turn, said, delivered=not stuck)
            self._close(later, conversation, "turn_ended", ("permission",))
            if stuck:
                lost = NEVER_RAN if isinstance(turn.item, UserText) else instructions.NOT_REPEATED
                self._shop.tell(conversation.id, lost, **turn.item.about)
            else:
                replies.answer(self._shop, self, later, conversation, end, text, seq)
            if stuck or breaks:
                self._replace(later, conversation, process)

    def _timed_out(self, conversation: Conversation, turn: Turn, process: AgentProcess, session_id: str) -> None:
        with self._shop.writing("response timeout") as later:
            self._end(later, conversation, turn, {"end": "response timeout", "text": joined(turn.chunks)})
            self._close_all(later, conversation, "response_timeout")
            self._shop.tell(conversation.id, instructions.RESPONSE_TIMEOUT, **turn.item.about)
            self._shop.ledger.message(conversation.id, "out", "agent", CANCEL_TURN, {"session_id": session_id})
            later.append(lambda: process.cancel(session_id))
            later.append(lambda: process.retire(conversation.id))

    def _end(
        self, later: Later, conversation: Conversation, turn: Turn, how: Mapping[str, Any], *, delivered: bool = False
    ) -> int:
        """The turn is over; the number of the message that says so. `delivered`: the agent has answered it."""
        later.append(lambda: _over(turn))
        if isinstance(turn.item, ResultItem) and delivered:
            self._shop.ledger.delivered(turn.item.call_id)
        return self._shop.ledger.message(conversation.id, "in", "agent", PROMPT, {**turn.item.about, **how})

    def _cancel(self, later: Later, conversation: Conversation, turn: Turn) -> None:
        later.append(lambda: _cancelled(turn))
        process = self._process
        session_id = process.session_of(conversation.id) if process is not None else None
        if turn.is_prompted and process is not None and session_id is not None:
            self._shop.ledger.message(conversation.id, "out", "agent", CANCEL_TURN, {"session_id": session_id})
            later.append(lambda: process.cancel(session_id))

    def _replace(self, later: Later, conversation: Conversation, process: AgentProcess) -> None:
        """The session is of no use any more. The next prompt gets a new one, and the person knows."""
        self._close_all(later, conversation, "agent_gone")
        self._shop.say(conversation.id, "system", instructions.SESSION_REPLACED)
        later.append(lambda: process.retire(conversation.id))

    def _close_all(self, later: Later, conversation: Conversation, event: states.Event) -> None:
        self._close(later, conversation, event, OF_SESSION)

    def _close(
        self, later: Later, conversation: Conversation, event: states.Event, sources: tuple[Source, ...]
    ) -> None:
        for card in self.cards.of(conversation.id, sources):
            self.cards.close(later, card, event)


def _over(turn: Turn) -> None:
    turn.is_over = True


def _cancelled(turn: Turn) -> None:
    turn.is_cancelled = True
