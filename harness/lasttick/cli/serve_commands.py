"""`lasttick serve ...` as typed: the options of each part, handed on to `lasttick.cli.serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from lasttick.cli.options import PLAIN, IdentityDir

serve = typer.Typer(help="Any part as a server, until SIGTERM or Ctrl-C.", **PLAIN)  # type: ignore[arg-type]

Port = Annotated[int, typer.Option(min=0, max=65535, help="0: a free one, told in the ready line.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Devices = Annotated[str, typer.Option(metavar="LIST|URL", help="As phone-1=android,ipad-1=ios@2, or a rack's URL.")]
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
