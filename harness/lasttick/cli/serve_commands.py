"""`lasttick serve ...` as typed: the options of each part, handed on to `lasttick.cli.serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lasttick.cli.options import PLAIN, IdentityDir

serve = typer.Typer(help="Any part as a server, until SIGTERM or Ctrl-C.", **PLAIN)  # type: ignore[arg-type]

Port = Annotated[int, typer.Option(min=0, max=65535, help="0: a free one, told in the ready line.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Devices = Annotated[str, typer.Option(metavar="LIST|URL", help="As phone-1=android,ipad-1=ios@2, or a rack's URL.")]
Tap = Annotated[Path | None, typer.Option(metavar="FILE", hidden=True)]
"""Where a world of processes wants to know what is seen at a part's door."""
Mutant = Annotated[str | None, typer.Option(metavar="ID", help="Serve a wrong version on purpose.")]
LOOPBACK = "127.0.0.1"


@serve.command("hostagent")
def serve_hostagent(
    port: Port = 8765,
    host: Host = LOOPBACK,
    allow_non_loopback: Annotated[
        bool, typer.Option("--allow-non-loopback", help="With the environment's switch: let other machines in.")
    ] = False,
    identity_dir: IdentityDir = None,
    devices: Devices = "phone-1=android,ipad-1=ios@2",
    only: Annotated[str | None, typer.Option(metavar="IDS", help="Of the rack's devices only these.")] = None,
    cloud: Annotated[str | None, typer.Option(metavar="URL", help="A cloud control plane to work for.")] = None,
    ttl: Annotated[float, typer.Option(metavar="S", help="How long an unused lease lasts.")] = 60.0,
    heartbeat: Annotated[float, typer.Option(metavar="S", help="Time between heartbeats.")] = 30.0,
    max_call: Annotated[float, typer.Option(metavar="S", help="After this a call is stuck.")] = 300.0,
    session_idle: Annotated[float, typer.Option(metavar="S", help="After this a silent session ends.")] = 1800.0,
    sse: Annotated[bool, typer.Option("--sse", help="Answer as event streams instead of JSON.")] = False,
    lease_store: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="HOST_AGENT_LEASE_STORE",
            help="memory:, sqlite:PATH, or one that several host agents share: redis://..., postgresql://...",
        ),
    ] = "memory:",
    conformance_fixtures: Annotated[
        bool, typer.Option("--conformance-fixtures", help="A test build: what the official MCP suite calls.")
    ] = False,
    open_door: Annotated[
        bool, typer.Option("--open-door", help="With those fixtures: ask nobody for a token.")
    ] = False,
    stateless_handles: Annotated[
        bool, typer.Option(help="Clients without a session hold devices by lease handles.")
    ] = True,
    mutant: Mutant = None,
) -> int:
    """The reference host agent: an MCP endpoint at /mcp and a console.

    With a device list it has a rack of its own, whose log can be read at GET /devices/v1/log (on loopback only).
    """
    from lasttick.cli.serve import hostagent

    return hostagent(
        port=port,
        host=host,
        allow_non_loopback=allow_non_loopback,
        identity_dir=identity_dir,
        devices=devices,
        only=only,
        cloud=cloud,
        ttl_s=ttl,
        heartbeat_s=heartbeat,
        max_call_s=max_call,
        session_idle_s=session_idle,
        sse=sse,
        lease_store=lease_store,
        conformance_fixtures=conformance_fixtures,
        open_door=open_door,
        stateless_handles=stateless_handles,
        mutant=mutant,
    )


@serve.command("cloud")
def serve_cloud(
    port: Port = 7002,
    host: Host = LOOPBACK,
    heartbeat: Annotated[float, typer.Option(metavar="S", help="Time between a host's heartbeats.")] = 30.0,
    mutant: Mutant = None,
) -> int:
    """The fake cloud control plane."""
    from lasttick.cli.serve import cloud

    return cloud(port=port, host=host, heartbeat_s=heartbeat, mutant=mutant)


@serve.command("devices")
def serve_devices(
    port: Port = 7001,
    host: Host = LOOPBACK,
    devices: Annotated[str, typer.Option(metavar="LIST", help="As phone-1=android,ipad-1=ios@2.")] = "",
    mutant: Mutant = None,
) -> int:
    """A rack of fake devices; more can be added over its wire."""
    from lasttick.cli.serve import rack

    return rack(port=port, host=host, devices=devices, mutant=mutant)


@serve.command("gateway")
def serve_gateway(
    port: Port = 8770,
    host: Host = LOOPBACK,
    identity_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the database is kept (default ~/.lasttick/gateway).")
    ] = None,
    agent_url: Annotated[str | None, typer.Option(metavar="URL", help="Your trusted agent's origin.")] = None,
    third_party_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where tools of kind http are called.")
    ] = None,
    upstream: Annotated[float, typer.Option(metavar="S", help="How long a third party may take.")] = 20.0,
    turn: Annotated[float, typer.Option(metavar="S", help="How long a turn of the agent may take.")] = 300.0,
    mutant: Mutant = None,
    tap: Tap = None,
) -> int:
    """The reference tool gateway: conversations, runs, and the door for tool calls.

    Without the two URLs it brings an agent, the fake agent program, a fake model and a fake third party along, to try.
    With them, AGENT_SERVICE_SECRET, RUNNER_JWT_SECRET and PLATFORM_ADMIN_TOKEN open its doors; unset, they stay closed.
    """
    from lasttick.cli.serve import gateway

    return gateway(
        trial=agent_url is None and third_party_url is None,
        port=port,
        host=host,
        identity_dir=identity_dir,
        agent_url=agent_url,
        third_party_url=third_party_url,
        upstream_s=upstream,
        turn_s=turn,
        mutant=mutant,
        tap=tap,
    )


@serve.command("agent")
def serve_agent(
    port: Port = 8771,
    host: Host = LOOPBACK,
    hermes: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="The agent program (default: the fake Hermes).")
    ] = None,
    turn: Annotated[float, typer.Option(metavar="S", help="How long one run of it may take.")] = 300.0,
    mutant: Mutant = None,
    held: Annotated[bool, typer.Option("--held", hidden=True)] = False,
    tap: Tap = None,
) -> int:
    """The trusted agent of the gateway; its environment is that of the agent's container.

    PLATFORM_API_URL and AGENT_SERVICE_SECRET say where the gateway is and who asks; HERMES_HOME holds the agent
    program's config.yaml, into which the humanwork server is registered at the start.
    """
    from lasttick.cli.serve import agent

    return agent(port=port, host=host, hermes=hermes, turn_s=turn, mutant=mutant, held=held, tap=tap)


@serve.command("humanwork")
def serve_humanwork(mutant: Mutant = None) -> int:
    """The agent program's MCP server for the gateway's tools, on standard input and output."""
    from lasttick.cli.serve import humanwork

    return humanwork(mutant=mutant)


@serve.command("model")
def serve_model(port: Port = 8772, host: Host = LOOPBACK) -> int:
    """A fake model: OpenAI-compatible, obeys scripts (PUT /scripts), shows what it was asked (GET /requests)."""
    from lasttick.cli.serve import model

    return model(port=port, host=host)


@serve.command("third-party")
def serve_third_party(port: Port = 8773, host: Host = LOOPBACK) -> int:
    """A fake third party: orders and a shop, PUT /data, POST /trouble, and its own log at GET /log."""
    from lasttick.cli.serve import third_party

    return third_party(port=port, host=host)


@serve.command("lineup")
def serve_lineup(
    agent: Annotated[str | None, typer.Option(metavar="COMMAND", help="An ACP agent, as in 'hermes acp'.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For the next start (default: lineup.sqlite).")
    ] = None,
    cwd: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the agent works (default: here).")] = None,
    port: Port = 8780,
    host: Host = LOOPBACK,
    stdio: Annotated[bool, typer.Option("--stdio", help="The chat host is at standard input and output.")] = False,
    events_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where the agent's own gateway may ask (JSON lines).")
    ] = None,
    response_timeout: Annotated[
        float | None, typer.Option(metavar="S", help="How long the agent may be silent in a turn (default: 300).")
    ] = None,
    permission_life: Annotated[
        float | None,
        typer.Option(metavar="S", help="How long a permission can be answered; less than the agent waits (55)."),
    ] = None,
    mutant: Mutant = None,
    tap: Tap = None,
) -> int:
    """The permission-card adapter: an agent that speaks ACP at one side, a chat host that shows cards at the other.

    The chat host comes to a WebSocket on loopback, one frame in each text message, or is at the standard streams, one
    in each line. The agent is started for the first message, with this environment. What is not given is taken from
    LINEUP_AGENT, LINEUP_LEDGER, LINEUP_CWD, LINEUP_RESPONSE_TIMEOUT_S and LINEUP_PERMISSION_LIFE_S.
    """
    from lasttick.cli.serve import lineup

    return lineup(
        agent=agent,
        ledger=ledger,
        cwd=cwd,
        port=port,
        host=host,
        stdio=stdio,
        events_port=events_port,
        response_timeout_s=response_timeout,
        permission_life_s=permission_life,
        mutant=mutant,
        tap=tap,
    )


@serve.command("hermes")
def serve_hermes(
    version: Annotated[
        str | None, typer.Option(metavar="X.Y.Z", help="Whose habits: 0.17.0 or 0.19.0 (default).")
    ] = None,
) -> int:
    """A fake `hermes acp` on standard input and output; HERMES_HOME holds its config.yaml."""
    from lasttick.cli.serve import hermes

    return hermes(version=version)


@serve.command("host")
def serve_host(
    adapter: Annotated[str, typer.Option(metavar="URL", help="The adapter's WebSocket.")] = "ws://127.0.0.1:8780",
    port: Port = 8781,
    host: Host = LOOPBACK,
) -> int:
    """A fake chat host with a person before it: GET /cards, POST /conversations/ID/click, and everything it saw.

    POST /conversations/ID/say {"text": ...} begins; GET /log has every frame of both directions.
    """
    from lasttick.cli.serve import chat_host

    return chat_host(adapter=adapter, port=port, host=host)


@serve.command("vaultclaw")
def serve_vaultclaw(mutant: Mutant = None) -> int:
    """The vault MCP server: on standard input and output, or over HTTP when ACCORDS_MCP_HTTP_ADDR is set.

    Everything else comes from the environment too: VC_AGENT_TOKEN, VC_BASE_URL, ACCORDS_MCP_CATALOG_DIR, ...
    """
    from lasttick.cli.serve import vaultclaw

    return vaultclaw(mutant=mutant)


@serve.command("vaultd")
def serve_vaultd(
    port: Port = 8787,
    host: Host = LOOPBACK,
    unix: Annotated[Path | None, typer.Option(metavar="PATH", help="At this Unix socket too.")] = None,
    state: Annotated[Path | None, typer.Option(metavar="FILE", hidden=True)] = None,
) -> int:
    """A fake vault daemon: approvals with a life cycle, GET /log, GET /effects, PUT /control/...; POST /trouble."""
    from lasttick.cli.serve import vaultd

    return vaultd(port=port, host=host, unix=unix, state=state)


@serve.command("catalog")
def serve_catalog(port: Port = 8788, host: Host = LOOPBACK) -> int:
    """A fake remote catalog of cookbooks, healthy or hostile by script; GET /log shows who asked with what."""
    from lasttick.cli.serve import catalog

    return catalog(port=port, host=host)


@serve.command("recorder")
def serve_recorder(port: Port = 7003, host: Host = LOOPBACK) -> int:
    """A resource that writes down what reaches it: MCP tools ltread and ltwrite at /mcp, POST /read and /write.

    GET /effects shows the calls, GET /requests every message; both take ?after=SEQ. DELETE /effects forgets.
    """
    from lasttick.cli.serve import recorder

    return recorder(port=port, host=host)


@serve.command("hop")
def serve_hop(
    to: Annotated[str, typer.Option(metavar="URL[,URL...]", help="Origins of the replicas, which take turns.")],
    add_header: Annotated[
        list[str] | None, typer.Option(metavar="N=V", help="Add to each request; may be repeated.")
    ] = None,
    drop_header: Annotated[
        list[str] | None, typer.Option(metavar="N", help="Drop from each request, before any is added.")
    ] = None,
    cut_idle: Annotated[
        float | None, typer.Option(metavar="S", help="Cut an answer that sends no byte for so long.")
    ] = None,
    buffer_sse: Annotated[bool, typer.Option("--buffer-sse", help="Answer an event stream when it has ended.")] = False,
    delay: Annotated[float, typer.Option(metavar="S", help="Begin each answer so much later.")] = 0.0,
    sticky: Annotated[
        bool, typer.Option("--sticky", help="Keep an MCP session at the replica that opened it.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A replica may be there, off this machine.")
    ] = None,
    port: Port = 7004,
    host: Host = LOOPBACK,
) -> int:
    """A reverse proxy with the habits of real ones; what it cannot reach is a 502."""
    from lasttick.cli.serve import hop

    return hop(
        to=to,
        add_headers=add_header or [],
        drop_headers=drop_header or [],
        cut_idle_s=cut_idle,
        buffer_sse=buffer_sse,
        delay_s=delay,
        sticky=sticky,
        allow_hosts=allow_host or [],
        port=port,
        host=host,
    )


@serve.command("dummy")
def serve_dummy(
    kind: Annotated[str, typer.Argument(metavar="dead|deny|allow|echo|liar")], port: Port = 7005, host: Host = LOOPBACK
) -> int:
    """A target on which no law may pass: dead, denies, allows, echoes, or lies."""
    from lasttick.cli.serve import dummy

    return dummy(kind=kind, port=port, host=host)
