"""`lasttick init`: a profile to begin with, or the schema by which an editor completes it."""

from __future__ import annotations

import re
from pathlib import Path

from lasttick.cli.errors import PASSED, UsageError

CONFIG = Path("lasttick.toml")
SCHEMA = Path("lasttick.schema.json")
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def init(profile: str | None, out: Path | None, *, schema: bool) -> int:
    """Raises UsageError when neither is asked for, InitError for an unknown name or a file that is there already."""
    from lasttick.laws.profiles.init import profile_text, profiles, write_profile, write_schema

    if schema and profile is None:
        write_schema(out or SCHEMA)
        print(f"{out or SCHEMA} is written; in {CONFIG}, tell your editor: #:schema ./{(out or SCHEMA).name}")
        return PASSED
    if profile is None or schema:
        raise UsageError(
            "no profile is named" if profile is None else "--profile and --schema are two files",
            f"--profile with one of {', '.join(profiles())}, or --schema",
            "lasttick init --profile seed-hostagent",
        )
    file = out or CONFIG
    write_profile(profile, file)
    needed = _variables(profile_text(profile))
    config = "" if file == CONFIG else f" --config {file}"
    print(f"{file} is written")
    if needed:
        print(f"next: set {', '.join(needed)}, then lasttick check{config} --plan")
    else:
        print(f"next: write your target into it, then lasttick check{config} --plan")
    return PASSED


def _variables(text: str) -> list[str]:
    """Those without a default, outside of comments, in their order."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return list(dict.fromkeys(VARIABLE.findall("\n".join(lines))))
