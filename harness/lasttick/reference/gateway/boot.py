"""`python -m lasttick.reference.gateway.boot`: register our MCP server with the agent program, once per deployment.

Exit status 1 when the configuration could not be merged: it says why on standard error and nothing was changed. A
boot script goes on all the same (`|| true`); its agent then has no tools.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lasttick.reference.gateway import registration
from lasttick.reference.gateway.registration import HUMANWORK_ARGS, Registered, RegistrationError

log = logging.getLogger(__name__)


def boot(
    home: Path, *, interpreter: str = sys.executable, args: Sequence[str] = HUMANWORK_ARGS
) -> Registered | RegistrationError:
    """Register in the program's folder `home`; an error is logged and returned, since the boot goes on. Idempotent."""
    try:
        return registration.register(home, interpreter, args)
    except RegistrationError as error:
        log.error("humanwork is not registered: %s", error)
        return error


def main() -> int:
    logging.basicConfig(format="%(message)s")
    done = boot(registration.hermes_home(os.environ))
    if isinstance(done, RegistrationError):
        return 1
    sys.stderr.write(f"{done.path} {'now names' if done.changed else 'already names'} mcp_servers.humanwork\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
