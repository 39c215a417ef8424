"""`lasttick serve gateway` for somebody who wants to look: platform, agent, agent program and the fakes, one tree.

Secrets are made once and kept in files of the identity folder, readable by their owner only; what the environment says
wins. Two organisations, `demo` and `other`, may look up orders and use a shop; `check.env` has what a check needs.
Source: DESIGN "What a user sees".
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
from dataclasses import dataclass, replace
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
from lasttick.targets.gateway import check_env, serve
from lasttick.targets.gateway.container import LANGUAGE, hermes_home, prepare
from lasttick.targets.gateway.secrets import runner_token
from lasttick.targets.gateway.serve import PlatformOptions
from lasttick.targets.serve import log_to_stderr, mutant_applied
from lasttick.targets.server import ServeError, listen_on_loopback
from lasttick_fakes.model import Call, Say, Script
from lasttick_fakes.model.script import as_json

ORG, OTHER = "demo", "other"
CHAT_FILES = {ORG: "gateway_chat_token.json", OTHER: "gateway_other_chat_token.json"}
FILES = {
    "AGENT_SERVICE_SECRET": "gateway_agent_secret.json",
    "RUNNER_JWT_SECRET": "gateway_jwt_key.json",
    "PLATFORM_ADMIN_TOKEN": "gateway_admin_token.json",
}
HELD_S = 3600.0
"""A turn with this word in its message lasts until somebody ends it: the agent does, after its `--turn`."""
SCRIPTS = (
    Script("order", (Call.one("order_lookup__lookup", order_id="A-1"), Say("I found this: {result}"))),
    Script("Hold", (Say("Done.", after_s=HELD_S),)),
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
            chat_tokens = {org_id: _kept(folder / file) for org_id, file in CHAT_FILES.items()}
        except StartError as error:
            raise ServeError(str(error)) from error
        own_url = "http://{}:{}".format(*listener.getsockname()[:2])
        async with _companions(options, own_url, secrets["AGENT_SERVICE_SECRET"], folder) as parts:

            def demo(platform: Platform) -> None:
                for org_id, token in chat_tokens.items():
                    platform.catalogue.put_org(org_id, _org(token))
                check_env.write_env(folder, _environ_of_check(own_url, parts, secrets, chat_tokens))
                _say_how(own_url, folder)

            await serve.platform(
                replace(options, identity_dir=folder, agent_url=parts.agent, third_party_url=parts.third_party),
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
        "bindings": [{"slug": slug, "state": "published"} for slug in ("order_lookup", "shop")],
        "skills": {"orders": ["order_lookup"], "shop": ["shop"]},
        "flags": {"tool_dispatch_enabled": True},
    }


def _environ_of_check(
    url: str, parts: Parts, secrets: Mapping[str, str], chat_tokens: Mapping[str, str]
) -> dict[str, str]:
    """What the profile `seed-gateway` asks of its environment, but for the runs; and what opens those."""
    wall_s = SystemClock().wall().timestamp()
    tokens = {org_id: runner_token(secrets["RUNNER_JWT_SECRET"], wall_s, org_id, {}) for org_id in (ORG, OTHER)}
    return {
        "LASTTICK_TARGET_URL": url,
        "LASTTICK_MODEL_URL": parts.model,
        "LASTTICK_THIRD_PARTY_URL": parts.third_party,
        "LASTTICK_ORG": ORG,
        "LASTTICK_OTHER_ORG": OTHER,
        "LASTTICK_AGENT_SECRET": secrets["AGENT_SERVICE_SECRET"],
        "LASTTICK_RUNNER_TOKEN": tokens[ORG],
        "LASTTICK_OTHER_TOKEN": tokens[OTHER],
        "LASTTICK_ADMIN_TOKEN": secrets["PLATFORM_ADMIN_TOKEN"],
        "CHAT_TOKEN": chat_tokens[ORG],
        "OTHER_CHAT_TOKEN": chat_tokens[OTHER],
    }


def _say_how(url: str, folder: Path) -> None:
    log.info(
        "try: curl %s/v1/conversations/1/messages -H 'content-type: application/json' "
        '-H "authorization: Bearer $(jq -r .token %s)" -d \'{"text": "Where is my order?", "skill": "orders"}\'',
        url,
        folder / CHAT_FILES[ORG],
    )
    log.info("check: . %s, then as docs/gateway.md says", folder / check_env.NAME)


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the platform's companions are."""

    agent: str
    model: str
    third_party: str


@asynccontextmanager
async def _companions(
    options: PlatformOptions, platform_url: str, agent_secret: str, folder: Path
) -> AsyncIterator[Parts]:
    """An agent, a model and a third party, which end with the block. Raises ServeError."""
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
        yield Parts(await _ready(children[-1]), model, third_party)
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
