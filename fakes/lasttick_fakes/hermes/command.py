"""What was the agent asked to do? Its command line: `hermes chat [-Q] [-t TOOLSETS] [-q PROMPT]`, or `hermes acp`.

Source: contract hermes, section 2. Not modelled: `-z`, sessions, `--yolo` and every other option; they are
refused as the program refuses an unknown one, with exit status 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from lasttick_fakes.hermes.versions import HABITS


class UsageError(Exception):
    """The command line cannot be read. The message goes to standard error, with exit status 2."""


@dataclass(frozen=True, slots=True)
class Command:
    """`prompt` None: no `-q`, or an empty one, so the interactive screen. `toolsets` None: no `-t`, so the defaults."""

    prompt: str | None
    toolsets: tuple[str, ...] | None
    quiet: bool


class _Parser(argparse.ArgumentParser):
    expected = "chat [-Q] [-t TOOLSETS] [-q PROMPT]"

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"hermes: error: {message}; expected {self.expected}; correct the command")


class _AcpParser(_Parser):
    expected = f"acp [--version {'|'.join(HABITS)}]"


def parse(argv: Sequence[str]) -> Command:
    """`argv` without the program's name. Raises UsageError."""
    parser = _Parser(prog="hermes", add_help=False, allow_abbrev=False)
    parser.add_argument("verb", choices=["chat"])
    parser.add_argument("-q", "--query")
    parser.add_argument("-t", "--toolsets")
    parser.add_argument("-Q", "--quiet", action="store_true")
    given = parser.parse_args(list(argv))
    toolsets = None if given.toolsets is None else tuple(t.strip() for t in given.toolsets.split(",") if t.strip())
    return Command(given.query or None, toolsets or None, given.quiet)


def parse_acp(argv: Sequence[str], default_version: str) -> str:
    """`argv` without the program's name: which version's habits it has. Raises UsageError."""
    parser = _AcpParser(prog="hermes", add_help=False, allow_abbrev=False)
    parser.add_argument("verb", choices=["acp"])
    parser.add_argument("--version", choices=list(HABITS), default=default_version)
    version: str = parser.parse_args(list(argv)).version
    return version
