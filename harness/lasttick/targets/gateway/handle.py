"""The tool gateway of a world: what a scenario does with it. How its parts are started is the mode's business.

Everything goes over HTTP, as a person's browser, an operator or an agent would do it, so one handle serves every mode.
Source: contract gateway, "Parts"; contract world, "Scenario and world".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import httpx

from lasttick.targets.gateway.container import CONFIG_NAME, hermes_home
from lasttick.targets.gateway.fakes import ModelHandle, ThirdPartyHandle
from lasttick.targets.gateway.options import Addresses, GatewayOptions, GatewayPart, PartName
from lasttick.targets.gateway.run import OpenRun, Turns
from lasttick.targets.gateway.secrets import Secrets, hide, runner_token
from lasttick.targets.gateway.tap import CALL_PATH, TROUBLE_PATH, trouble_json
from lasttick.targets.gateway.turns import HermesTurn
from lasttick.targets.gateway.wire import ChatAnswer, Reply, as_it_stands, encoded, reply_of

if TYPE_CHECKING:
    from lasttick.targets.world import World

HTTP_S = 120.0
"""After this a part of ours that does not answer is an error of the scenario's, in process mode."""


class Gateway:
    """A running gateway. `secrets` are what its parts share; `third_party` and `model` are the fakes at its ends."""

    def __init__(
        self, world: World, options: GatewayOptions, part: GatewayPart, secrets: Secrets, addresses: Addresses
    ) -> None:
        self._world = world
        self._part = part
        self._chat_tokens: dict[str, str] = {}
        self._killed: dict[PartName, None] = {}
        self.options = options
        self.secrets = secrets
        self.platform_url = addresses.platform
        self.agent_url = addresses.agent
        self.third_party = ThirdPartyHandle(self._send, addresses.third_party)
        self.model = ModelHandle(self._send, addresses.model)
        self._turns = Turns(self._send, addresses.agent)

    # -- the operator's side

    async def org(
        self,
        org_id: str,
        *,
        bindings: Sequence[str | Mapping[str, Any]] = (),
        skills: Mapping[str, Sequence[str]] | None = None,
        flags: Mapping[str, Any] | None = None,
        policies: Mapping[str, str] | None = None,
        credentials: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Store an organisation's whole document, with one chat token. A binding that is only a slug is published."""
        if flags is None:
            flags = {} if self.options.flag is None else {"tool_dispatch_enabled": self.options.flag}
        if credentials is None:
            credentials = self.options.credentials or {}
        for named in credentials.values():
            for value in named.values():
                hide(self._world.trace.redact, value, "[credential]")
        document = {
            "chat_tokens": [self.chat_token(org_id)],
            "bindings": [{"slug": b, "state": "published"} if isinstance(b, str) else dict(b) for b in bindings],
            "skills": {name: list(slugs) for name, slugs in (skills or {}).items()},
            "flags": dict(flags),
            "policies": dict(policies or {}),
            "credentials": {slug: dict(values) for slug, values in credentials.items()},
        }
        await self.put_org(org_id, document)

    async def put_org(self, org_id: str, document: Mapping[str, Any]) -> None:
        """Replace an organisation's document by this one."""
        await self.admin("PUT", f"/v1/admin/orgs/{org_id}", document)

    async def document(self, org_id: str) -> dict[str, Any]:
        """An organisation's document, as it is stored."""
        return await self.admin("GET", f"/v1/admin/orgs/{org_id}")

    async def change_org(self, org_id: str, **parts: Any) -> None:
        """Replace parts of an organisation's document: `flags={...}`, `policies={...}`."""
        await self.put_org(org_id, {**await self.document(org_id), **parts})

    async def registry(self, data: Mapping[str, Any]) -> None:
        """Replace the tool registry."""
        await self.admin("PUT", "/v1/admin/registry", data)

    async def runs(self, org_id: str) -> list[dict[str, Any]]:
        """An organisation's AgentRuns, oldest first, as the platform stores them."""
        return list((await self.admin("GET", f"/v1/admin/runs?org_id={org_id}"))["runs"])

    async def run(self, run_id: str) -> dict[str, Any]:
        return await self.admin("GET", f"/v1/admin/runs/{run_id}")

    async def finish(self, run_id: str) -> None:
        """End a run as the operator can."""
        await self.admin("POST", f"/v1/admin/runs/{run_id}/finish", {})

    async def set_manifest(self, run_id: str, allowed_tools: Sequence[str]) -> None:
        """Replace the manifest that is stored for a run."""
        await self.admin("PUT", f"/v1/admin/runs/{run_id}/manifest", {"allowedTools": list(allowed_tools)})

    async def ledger(self, org_id: str) -> list[dict[str, Any]]:
        """An organisation's ToolCall rows, oldest first."""
        return list((await self.admin("GET", f"/v1/admin/ledger?org_id={org_id}"))["rows"])

    async def admin(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """A request of the operator's. Raises AssertionError for an error status."""
        answer = await self._send(method, self.platform_url + path, body, bearer=self.secrets.admin_token)
        assert answer.http_status == 200, f"{method} {path} gave HTTP {answer.http_status}: {answer.body}"
        return dict(answer.body)

    # -- people's side

    def chat_token(self, org_id: str) -> str:
        """The token that opens this organisation's conversations; drawn when first asked for."""
        if org_id not in self._chat_tokens:
            token = f"chat-{self._world.random('chat-tokens').getrandbits(128):032x}"
            self._chat_tokens[org_id] = token
            hide(self._world.trace.redact, token, "[chat-token]")
        return self._chat_tokens[org_id]

    async def chat(
        self,
        org_id: str | None,
        text: str,
        *,
        skill: str | None = None,
        channel: str | None = None,
        conversation_id: str | None = None,
        regenerate: bool = False,
        later: bool = False,
    ) -> ChatAnswer:
        """One message of a person, and the answer. `org_id` None: the platform's own staff, without a dispatch org.

        `later`: the person asks to be told the run at once, and the turn goes on; there is no answer then.
        """
        world = self._world
        ref = world.next_ref("m")
        conversation_id = conversation_id or f"conversation-{ref}"
        site = "regenerate" if regenerate else "messages"
        body = {"text": text, **_given(skill=skill, channel=channel)}
        actor = org_id or "staff"
        token = self.secrets.admin_token if org_id is None else self.chat_token(org_id)
        world.trace.emit(actor, "chat.start", ref, site=site, text=text, skill=skill, conversation_id=conversation_id)
        path = f"/v1/conversations/{conversation_id}/{site}"
        prefer = {"prefer": "respond-async"} if later else {}
        answer = ChatAnswer.of(await self._send("POST", self.platform_url + path, body, bearer=token, headers=prefer))
        world.trace.emit(
            actor, "chat.end", ref, run_id=answer.run_id, http_status=answer.http_status, answer=answer.answer
        )
        return answer

    async def consult(self, org_id: str, text: str) -> ChatAnswer:
        """The expert consultation path."""
        ref = self._world.next_ref("m")
        self._world.trace.emit(org_id, "chat.start", ref, site="consultations", text=text)
        url = f"{self.platform_url}/v1/consultations"
        answer = ChatAnswer.of(await self._send("POST", url, {"text": text}, bearer=self.chat_token(org_id)))
        self._world.trace.emit(org_id, "chat.end", ref, http_status=answer.http_status, answer=answer.answer)
        return answer

    async def open_run(self, org_id: str, *, skill: str | None = None, **options: Any) -> OpenRun:
        """A run that stays active until the scenario ends it. Needs `agent="held"`. Options: those of `chat`."""
        assert self.options.agent == "held", 'open_run needs world.gateway(agent="held")'
        return await OpenRun.begin(self._world, self, self._turns, org_id, {"skill": skill, **options})

    # -- an agent's side

    async def execute(
        self, headers: Mapping[str, str] | Sequence[tuple[str, str | bytes]] = (), body: Any = b""
    ) -> Reply:
        """`POST /v1/runtime/tools/execute` as given: pairs may repeat a name; bytes are sent as they are, else JSON."""
        return await self._send("POST", self.platform_url + CALL_PATH, body, headers=headers)

    async def call(
        self,
        run_id: str,
        name_action: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        org_id: str,
        body_org_id: Any = None,
        door: Literal["internal", "runner"] = "internal",
    ) -> Reply:
        """A well-formed tool call by one of the two doors; `body_org_id`: say another org than one's own."""
        slug, _, action = name_action.partition(":")
        org = org_id if body_org_id is None else body_org_id
        body = {"orgId": org, "runId": run_id, "toolName": slug, "action": action, "input": dict(arguments or {})}
        internal = {"x-agent-secret": self.secrets.agent_secret}
        return await self.execute(
            internal if door == "internal" else {"authorization": f"Bearer {self.token(org_id)}"}, body
        )

    def token(self, org_id: str | None = "org-a", *, key: str | None = None, **claims: Any) -> str:
        """A runner's token, valid for an hour by the wall clock. `claims` replace or add; None leaves one out."""
        made = runner_token(self.secrets.jwt_key if key is None else key, self._world.wall_s, org_id, claims)
        if claims or key is not None:
            # One of many, made for one question; in disguise only those go about that open a door everywhere.
            self._world.trace.redact.learn(made, "[runner-token]")
        else:
            hide(self._world.trace.redact, made, "[runner-token]")
        return made

    async def hermes_turns(self) -> list[HermesTurn]:
        """What the agent ran, turn by turn: the program, its children, and their environments."""
        return await self._part.turns()

    @property
    def config_path(self) -> Path:
        """The agent program's `config.yaml`, into which boot registers."""
        return hermes_home(self.options.folder) / CONFIG_NAME

    async def wires(self) -> list[str]:
        """What the platform sent the agent for each turn, as it came: JSON text."""
        return await self._part.wires()

    @property
    def pids(self) -> dict[str, int]:
        """The processes of the parts that last; in virtual mode all are this one."""
        return self._part.pids

    # -- trouble, life and death

    async def trouble(self, kind: str, **options: Any) -> None:
        """Tool calls meet a platform that is slow, down, 5xx or garbage (options as for the third party's trouble), or
        one that answers each with a redirect (`to`, a URL)."""
        self._world.trace.emit("harness", "trouble", None, what=f"gateway {kind}", **options)
        answer = await self._send("POST", self.platform_url + TROUBLE_PATH, trouble_json(kind, **options))
        assert answer.ok, f"no such trouble: HTTP {answer.http_status}: {answer.body}"

    async def heal(self) -> None:
        """The end of that trouble."""
        await self.trouble("heal")

    async def restart(self, name: PartName = "platform") -> None:
        """Stop a part as on SIGTERM if it runs, and start it again on the same files and address. The agent boots."""
        if name not in self._killed:
            self._world.trace.emit(name, "part.stop")
        self._killed.pop(name, None)
        await self._part.restart(name)
        self._world.trace.emit(name, "part.start")

    async def kill(self, name: PartName) -> None:
        """A part is gone from one instant to the next (process mode); `restart` starts it again."""
        self._world.trace.emit(name, "part.kill")
        await self._part.kill(name)
        self._killed[name] = None

    async def shut(self) -> None:
        """The end of the world."""
        await self._part.stop()

    async def _send(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        bearer: str | None = None,
        headers: Mapping[str, str] | Sequence[tuple[str, str | bytes]] = (),
    ) -> Reply:
        sent: list[tuple[str, str | bytes]] = list(headers.items() if isinstance(headers, Mapping) else headers)
        if bearer is not None:
            sent.append(("authorization", f"Bearer {bearer}"))
        if body is not None and not any(name.lower() == "content-type" for name, _ in sent):
            sent.append(("content-type", "application/json"))
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        raw = [encoded(pair) for pair in sent]
        try:
            return reply_of(
                await self._world._http().request(method, url, content=content, headers=raw, timeout=HTTP_S)
            )
        except httpx.LocalProtocolError:
            # Real sockets only: a library that would not even send it is no answer of the platform's.
            return await as_it_stands(method, url, raw, content or b"")


async def begin(world: World, number: int, options: dict[str, Any]) -> Gateway:
    """Start the world's gateway `number`. Raises StartRefused."""
    name = options.pop("name", "gateway" if number == 0 else f"gateway-{number + 1}")
    named = GatewayOptions(folder=options.pop("folder", world.path / name), name=name, **options)
    secrets = Secrets.drawn(world.random(f"{name} secrets"))
    secrets.hide(world.trace.redact)
    part = world.gateway_part(named, number, secrets)
    try:
        addresses = await part.start()
    except BaseException:
        await part.stop()
        raise
    gateway = Gateway(world, named, part, secrets, addresses)
    world.trace.emit(name, "part.start", agent=named.agent)
    if named.registry is not None:
        await gateway.registry(named.registry)
    return gateway


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
