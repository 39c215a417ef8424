"""What does one message set going? Tools are resolved, a run is made, the agent is asked, the answer is stored.

There are two dispatch sites, main and regen, and they do the same; the expert consultation path has no run and gets no
tools. Without a dispatch org there is neither. Source: contract gateway, "Parts" (run lifecycle); GW-11, GW-12.
"""

from __future__ import annotations

from dataclasses import dataclass

from lasttick.model import manifest, tool_registry
from lasttick.model.manifest import Resolved
from lasttick.ports import Entropy
from lasttick.reference.gateway.agent_client import AgentClient
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.conversations import INBOUND, Conversations
from lasttick.reference.gateway.in_flight import InFlight
from lasttick.reference.gateway.runs import Runs, new_id


@dataclass(frozen=True, slots=True)
class Message:
    """What came in. `org_id` None: no dispatch org. `skill` is the name that the conversation was matched to."""

    org_id: str | None
    conversation_id: str
    text: str
    skill: str | None
    channel: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of it. `run_id` None: there was no run."""

    run_id: str | None
    conversation_id: str
    answer: str


class Dispatch:
    """The turns of all conversations."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        runs: Runs,
        conversations: Conversations,
        agent: AgentClient,
        in_flight: InFlight,
        entropy: Entropy,
    ) -> None:
        self._catalogue = catalogue
        self._runs = runs
        self._conversations = conversations
        self._agent = agent
        self._in_flight = in_flight
        self._entropy = entropy

    async def main(self, message: Message) -> Turn:
        """A new message and its answer. Raises Refused (AGENT_*)."""
        self._conversations.add_inbound(message.org_id, message.conversation_id, message.text)
        return await self._turn(message, self.resolve(message))

    def begin(self, message: Message) -> str | None:
        """A new message whose turn goes on while nobody waits for it; the id of its run, which is active now."""
        self._conversations.add_inbound(message.org_id, message.conversation_id, message.text)
        resolved = self.resolve(message)
        run_id = self._run(message, resolved)
        self._in_flight.go_on(self._answer(message, resolved, run_id))
        return run_id

    async def regen(self, message: Message) -> Turn:
        """Another answer to a message that is there already. Raises Refused (AGENT_*)."""
        return await self._turn(message, self.resolve(message))

    async def consultation(self, org_id: str, text: str) -> str:
        """An expert's question to the agent: no run, no tools, nothing kept. Raises Refused (AGENT_*)."""
        conversation_id = new_id(self._entropy)
        wire = manifest.chat_wire(conversation_id=conversation_id, text=text, org_id=org_id, run_id=None)
        return await self._in_flight.wait(self._agent.chat(wire))

    def resolve(self, message: Message) -> Resolved:
        """The tools of a turn, by what is stored now."""
        if message.org_id is None:
            return Resolved()
        organisation, tools = self._catalogue.now(message.org_id)
        skill = None if message.skill is None else organisation.skills.get(message.skill)
        registry = tools.registry
        slugs = tool_registry.intersect_read_tools(organisation.bindings, skill, message.org_id, registry)
        pairs = tool_registry.expand_to_name_action(slugs, registry)
        return manifest.resolve_specialist_toolsets(organisation.flags.get("tool_dispatch_enabled"), pairs)

    async def _turn(self, message: Message, resolved: Resolved) -> Turn:
        run_id = self._run(message, resolved)
        answer = await self._answer(message, resolved, run_id)
        return Turn(run_id, message.conversation_id, answer)

    def _run(self, message: Message, resolved: Resolved) -> str | None:
        """The id of a new run for the message; None without a dispatch org."""
        if message.org_id is None:
            return None
        metadata = manifest.run_metadata(INBOUND, message.channel, resolved.mcp_tools)
        return self._runs.create_run(message.org_id, message.conversation_id, metadata).id

    async def _answer(self, message: Message, resolved: Resolved, run_id: str | None) -> str:
        """The agent's answer, stored; the run is over then, and also when there is none."""
        try:
            wire = manifest.chat_wire(
                conversation_id=message.conversation_id,
                text=message.text,
                org_id=message.org_id,
                run_id=run_id,
                toolsets=resolved.toolsets,
                mcp_tools=resolved.mcp_tools,
            )
            answer = await self._in_flight.wait(self._agent.chat(wire))
            self._conversations.add_answer(message.org_id, message.conversation_id, answer, run_id)
        except BaseException:
            # Whatever ended the turn, its manifest ends with it (ruling 12).
            if run_id is not None:
                self._runs.finish(run_id)
            raise
        return answer
