"""Is another platform already working on this database?

At its start a platform ends the runs and closes the calls that an earlier one left; with two of them alive, the second
would end the turns of the first. The lock is the operating system's, so it goes with its process however that ends. Of
a database server it is the deployment that sees to it. Source: contract gateway, run lifecycle and ruling 12.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from filelock import FileLock, Timeout

from lasttick.reference.gateway.config import ConfigError
from lasttick.reference.gateway.database import file_of

SUFFIX = ".lock"


@contextmanager
def only_platform_of(url: sa.URL) -> Iterator[None]:
    """Be the one platform on a SQLite file, whose folder is there. Raises ConfigError, without waiting."""
    path = file_of(url)
    if path is None:
        yield
        return
    lock = FileLock(f"{path}{SUFFIX}", timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise ConfigError(
            f"another platform works on {path}",
            "one platform for each database (contract gateway, run lifecycle)",
            "stop it, or start this one with another --identity-dir or DATABASE_URL",
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{path}{SUFFIX} cannot be locked: {error.strerror or error}",
            "a file that this user can write (contract gateway, run lifecycle)",
            "correct its permissions, or start with another --identity-dir or DATABASE_URL",
        ) from error
    try:
        yield
    finally:
        lock.release()
