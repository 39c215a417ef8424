"""What does one call say? Its caller, its instant and its members, and how a member that is wrong is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick_fakes.http_json import shown
from lasttick_fakes.vaultd.principals import Principal
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.validate import Problem, report
from lasttick_fakes.vaultd.work import Now


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it is judged. `body` is the parsed one, None for GET; `ident` the id in the path, "" without one."""

    who: Principal
    now: Now
    query: Mapping[str, str]
    body: Any
    ident: str = ""

    def members(self) -> dict[str, Any]:
        """The body. Raises VaultError (400): it is no object."""
        if not isinstance(self.body, dict):
            raise invalid("the body", self.body, "an object")
        return self.body

    def text(self, name: str) -> str:
        """A member of the body, or of the query for GET. Raises VaultError (400)."""
        given = self.query.get(name) if self.body is None else self.members().get(name)
        if not isinstance(given, str) or not given.strip():
            raise invalid(name, given, "text that is not blank")
        return given.strip()


def invalid(name: str, value: Any, expected: str) -> VaultError:
    message = f"{name} is {shown(value)}; expected {expected}; correct it."
    return VaultError(400, "INVALID_ARGUMENT", message, {"field": name, "expected": expected})


def not_valid(code: str, problems: list[Problem]) -> VaultError:
    """The refusal of what does not validate; `problems` are one or more."""
    message = f"{problems[0].message} ({len(problems)} in all)"
    return VaultError(400, code, message, {"errors": report(problems)["errors"]})
