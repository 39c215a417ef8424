"""`lasttick serve gateway` for somebody who wants to look: platform, agent, agent program and the fakes, one tree.

Secrets are made once and kept in files of the identity folder, readable by their owner only; what the environment says
wins. One organisation `demo` may look up its orders. Source: DESIGN "What a user sees".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.reference.gateway.config import GatewayConfig
from lasttick.reference.gateway.platform import Platform
from lasttick.reference.hostagent import private_file
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.hostagent.tokens import TOKEN, TOKEN_BYTES, token_urlsafe
from lasttick.targets.children import POLL_S, Child, ChildFailed
from lasttick.targets.gateway import serve
from lasttick.targets.gateway.container import LANGUAGE, hermes_home, prepare
from lasttick.targets.gateway.serve import PlatformOptions
from lasttick.targets.serve import log_to_stderr, mutant_applied
from lasttick.targets.server import ServeError, listen_on_loopback
from lasttick_fakes.model import Call, Say, Script
from lasttick_fakes.model.script import as_json

ORG = "demo"
CHAT_FILE = "gateway_chat_token.json"
FILES = {
    "AGENT_SERVICE_SECRET": "gateway_agent_secret.json",
    "RUNNER_JWT_SECRET": "gateway_jwt_key.json",
    "PLATFORM_ADMIN_TOKEN": "gateway_admin_token.json",
}
SCRIPTS = (
    Script("order", (Call.one("order_lookup__lookup", order_id="A-1"), Say("I found this: {result}"))),
    Script("*", (Say("Ask me about your order."),)),
)
ORDER = {"status": "on its way", "carrier": "a snail"}
PASSED_ON = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "TMPDIR", "TZ")
"""What the agent's container has of this process's environment, which may hold anything."""

log = logging.getLogger(__name__)


def run_trial(options: PlatformOptions, environ: Mapping[str, str]) -> None:
    """Serve all of it until told to stop. Raises ServeError."""
    with mutant_applied(options.mutant), contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_trial(options, environ))


async def _trial(options: PlatformOptions, environ: Mapping[str, str]) -> None:
    log_to_stderr()
    serve.stop_while_starting()
    folder = GatewayConfig.from_env({}, identity_dir=options.identity_dir).identity_dir
    with listen_on_loopback(options.host, options.port) as listener:
        try:
            secrets = {name: environ.get(name) or _kept(folder / file) for name, file in FILES.items()}
            chat_token = _kept(folder / CHAT_FILE)
        except StartError as error:
            raise ServeError(str(error)) from error
        own_url = "http://{}:{}".format(*listener.getsockname()[:2])
        async with _companions(options, own_url, secrets["AGENT_SERVICE_SECRET"], folder) as (agent, third_party):

            def demo(platform: Platform) -> None:
                platform.catalogue.put_org(ORG, _org(chat_token))
                _say_how(own_url, folder)

            await serve.platform(
                replace(options, identity_dir=folder, agent_url=agent, third_party_url=third_party),
                {**environ, **secrets},
                listener,
                demo,
            )


def _kept(path: Path) -> str:
    """The secret in that file; made if there is none. Raises StartError."""
    entropy = SystemEntropy()
    return private_file.load_or_create(
        path,
        name="token",
        new_value=lambda: token_urlsafe(entropy, TOKEN_BYTES),
        pattern=TOKEN,
        clock=SystemClock(),
    ).value


def _org(chat_token: str) -> dict[str, Any]:
    return {
        "chat_tokens": [chat_token],
        "bindings": [{"slug": "order_lookup", "state": "published"}],
        "skills": {"orders": ["order_lookup"]},
        "flags": {"tool_dispatch_enabled": True},
    }


def _say_how(url: str, folder: Path) -> None:
    log.info(
        "try: curl %s/v1/conversations/1/messages -H 'content-type: application/json' "
        '-H "authorization: Bearer $(jq -r .token %s)" -d \'{"text": "Where is my order?", "skill": "orders"}\'',
        url,
        folder / CHAT_FILE,
    )


@asynccontextmanager
async def _companions(
    options: PlatformOptions, platform_url: str, agent_secret: str, folder: Path
) -> AsyncIterator[tuple[str, str]]:
    """The URLs of an agent and a third party, which end with the block. Raises ServeError."""
    logs = folder / "logs"
    children = [
        Child([name, "--port", "0"], logs / f"{name}.log", begin=_begin, environ=_plain())
        for name in ("model", "third-party")
    ]
    try:
        model, third_party = [await _ready(child) for child in children]
        await _tell(model, third_party)
        prepare(folder, model, None)
        environ = {
            **_plain(),
            **LANGUAGE,
            "HOME": str(folder / "home"),
            "HERMES_HOME": str(hermes_home(folder)),
            "PLATFORM_API_URL": platform_url,
            "AGENT_SERVICE_SECRET": agent_secret,
        }
        mutant = [] if options.mutant is None else ["--mutant", options.mutant]
        arguments = ["agent", "--port", "0", "--turn", str(options.turn_s), *mutant]
        children.append(Child(arguments, logs / "agent.log", begin=_begin, environ=environ))
        yield await _ready(children[-1]), third_party
    finally:
        await asyncio.gather(*(asyncio.to_thread(_end, child) for child in children))


async def _ready(child: Child) -> str:
    try:
        while (ready := child.poll_ready()) is None:
            await asyncio.sleep(POLL_S)
    except ChildFailed as failed:
        raise ServeError(str(failed)) from failed
    return str(ready["url"])


async def _tell(model: str, third_party: str) -> None:
    """What the two fakes need to know for the demonstration."""
    async with httpx.AsyncClient(trust_env=False) as http:
        for script in SCRIPTS:
            (await http.put(f"{model}/scripts", json=as_json(script))).raise_for_status()
        (await http.put(f"{third_party}/data/orders/A-1", json=ORDER)).raise_for_status()


def _end(child: Child) -> None:
    """Within the time that a stop may take."""
    try:
        if child.running:
            child.stop()
    except ChildFailed as failed:
        log.warning("%s", failed)


def _plain() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _begin(arguments: Sequence[str], log_file: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log_file.open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "lasttick", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=dict(environ),
        )
