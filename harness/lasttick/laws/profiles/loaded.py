"""A profile that was read and found good, with what a message or a redactor needs beside it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lasttick.engine.trace import Redactor
from lasttick.laws.judges.secrets import forms
from lasttick.laws.profiles import problems
from lasttick.laws.profiles.profile import Profile


@dataclass(frozen=True, slots=True)
class Loaded:
    """`name` is the file as a person knows it. `secrets`: name of a variable or run var -> its value."""

    profile: Profile
    name: str
    text: str = field(repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def where(self, verb_or_path: str | Sequence[str | int]) -> str:
        """`lasttick.toml:41 ([lease.acquire])`, of a verb, `routes.NAME.verb`, `callers.NAME`, or a path of keys."""
        path = verb_or_path.split(".") if isinstance(verb_or_path, str) else verb_or_path
        return problems.where(self.name, self.text, path)

    @property
    def place(self) -> str:
        """The target's address, or its command, as people and files are told it: without the secrets in it."""
        target = self.profile.target
        return self.hidden(target.url) if target.url else shlex.join(map(self.hidden, target.command or ()))

    def hidden(self, text: str) -> str:
        """A text without the secrets in it."""
        return str(hide(self.secrets, Redactor())(text))


def hide(secrets: Mapping[str, str], redact: Redactor) -> Redactor:
    """From now on each secret is written as `[NAME]`, in whatever form it may stand in a log."""
    for name, value in secrets.items():
        for form in forms(value):
            redact.learn(form, f"[{name}]")
    return redact
