"""How does somebody who checks a served gateway learn where its parts are, and who may what? A file for the shell.

It holds secrets, so only its owner may read it; it is written anew at each start. Source: docs/gateway.md.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from lasttick.reference import durable
from lasttick.reference.hostagent.private_file import MODE
from lasttick.reference.hostagent.start_error import StartError

NAME = "check.env"


def write_env(folder: Path, environ: Mapping[str, str]) -> Path:
    """`check.env` in the folder, with one `export NAME=value` a line; its path. Raises StartError."""
    path = folder / NAME
    text = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environ.items())
    try:
        opened = durable.open_temp(path, MODE)
        if opened is None:
            raise FileExistsError("too many left-over files beside it")
        fd, temp = opened
        try:
            durable.write_all(fd, text.encode())
            temp.replace(path)
        finally:
            os.close(fd)
            temp.unlink(missing_ok=True)
    except OSError as error:
        raise StartError(
            f"{path} cannot be written: {error.strerror or error}",
            "a folder that this user may write to (docs/gateway.md)",
            "correct its permissions, or give another --identity-dir",
        ) from error
    return path
