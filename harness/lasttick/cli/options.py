"""Options that commands of more than one group take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PLAIN = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
IdentityDir = Annotated[Path | None, typer.Option(metavar="DIR", help="Where identity, token and password are kept.")]
