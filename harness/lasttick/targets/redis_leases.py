"""The real Redis in which the hosts of a process-mode world share their leases, each behind a link of its own.

Each world has keys of its own and takes them out at its end. Without a Redis a scenario is inconclusive, never a pass.
Source: contract world, "Modes and controls" (a missing server).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lasttick.targets.lease_server import SharedLeases
from lasttick.targets.link import TcpLink
from lasttick.targets.outcome import Inconclusive

if TYPE_CHECKING:
    from lasttick.engine.trace import Trace

VARIABLE = "LASTTICK_TEST_REDIS"
USUAL = "redis://127.0.0.1:6379"
PORT = 6379
ANSWER_S = 2.0


class RedisLeases(SharedLeases):
    """`prefix`: of this world's keys, a text that no other world uses."""

    def __init__(self, trace: Trace, prefix: str) -> None:
        super().__init__(trace)
        self._url = os.environ.get(VARIABLE) or USUAL
        self._prefix = prefix
        self._links: dict[str, TcpLink] = {}

    async def url(self, host: str) -> str:
        """The `--lease-store` of that host: through its link. Raises Inconclusive when there is no Redis."""
        there = urlsplit(self._url)
        if host not in self._links:
            await self._probe()
            link = TcpLink(there.hostname or "127.0.0.1", there.port or PORT)
            await link.start()
            self._links[host] = link
        user = f"{there.netloc.rpartition('@')[0]}@" if "@" in there.netloc else ""
        netloc = f"{user}127.0.0.1:{self._links[host].port}"
        return there._replace(netloc=netloc, fragment=self._prefix).geturl()

    async def close(self) -> None:
        """Cut the links, and take this world's keys out."""
        if not self._links:
            return
        for link in self._links.values():
            await link.close()
        from redis.asyncio import Redis
        from redis.exceptions import RedisError

        client = Redis.from_url(self._url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S)
        try:
            keys = [key async for key in client.scan_iter(match=f"{{{self._prefix}}}:*", count=1000)]
            if keys:
                await client.delete(*keys)
        except (RedisError, OSError):
            pass  # a Redis that went away has nothing to clean up
        finally:
            await client.aclose()

    def _hold(self, name: str) -> None:
        self._links[name].hold()

    def _release(self, name: str) -> None:
        self._links[name].release()

    async def _probe(self) -> None:
        try:
            from redis.asyncio import Redis
            from redis.exceptions import RedisError
        except ModuleNotFoundError:
            raise Inconclusive("needs the Redis client; pip install 'lasttick[redis]'") from None
        client = Redis.from_url(self._url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S)
        try:
            await client.ping()
        except (RedisError, OSError) as error:
            where = urlsplit(self._url)
            raise Inconclusive(
                f"needs a Redis server at {where.hostname}:{where.port or PORT} ({type(error).__name__}); install "
                f"redis-server and start it, or set {VARIABLE}"
            ) from None
        finally:
            await client.aclose()
