"""Wrong versions of who may come in by the internal door, and of what may be called through which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model import tool_call, trust
from lasttick.model.trust import Admitted, Claims
from lasttick.mutants import Mutant
from lasttick.reference.gateway import tools
from lasttick.reference.gateway.guard import RunnerTokenGuard
from lasttick.reference.gateway.secret import OpaqueSecret

DOORS = "gateway/doors/"


def empty_is_a_secret(right: Any) -> Callable[..., Any]:
    """An unset secret is the empty text, and the empty header is it."""

    def internal(self: RunnerTokenGuard, headers: list[tuple[bytes, bytes]], body: dict[str, Any] | None) -> Any:
        org = None if body is None else trust.usable_org_id(body.get("orgId"))
        said = b"".join(value.strip() for name, value in headers if name == b"x-agent-secret")
        if self._secret is None and org is not None and not said:
            return Admitted("internal", Claims(f"internal-agent:{org}", org, trust.RUNNER, trust.RUNNER))
        return right(self, headers, body)

    return internal


def first_of_several(presented: Any) -> str | None:
    value = presented[0] if presented else None
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return value if value and value.isascii() and value.strip() else None


def wrong_secret_ends_it(right: Any) -> Callable[..., Any]:
    """A wrong secret is refused at once: the runner door is never asked."""

    def runner(self: RunnerTokenGuard, headers: list[tuple[bytes, bytes]]) -> Any:
        return None if any(name == b"x-agent-secret" for name, _ in headers) else right(self, headers)

    return runner


def bearer_first(right: Any) -> Callable[..., Any]:
    """A request with a bearer is a runner's: the internal door is for those without one."""

    def internal(self: RunnerTokenGuard, headers: list[tuple[bytes, bytes]], body: Any) -> Any:
        return None if any(name == b"authorization" for name, _ in headers) else right(self, headers, body)

    return internal


def stripped(right: Any) -> Callable[..., Any]:
    def org(value: Any) -> Any:
        found = right(value)
        return found.strip() if found is not None else None

    return org


def any_text_of(value: Any) -> str | None:
    """Whatever JSON it is, as text."""
    return str(value) if value not in (None, "") else None


def bare_sub(right: Any) -> Callable[..., Any]:
    def internal_door(**given: Any) -> Admitted | None:
        admitted = right(**given)
        if admitted is None:
            return None
        claims = admitted.claims
        return Admitted("internal", Claims("internal-agent", claims.org_id, claims.role, claims.aud))

    return internal_door


def starts_with(self: OpaqueSecret, presented: str) -> bool:
    """Compared as far as the shorter one goes."""
    return bool(presented) and self.reveal().startswith(presented[: len(self.reveal())])


def internal_writes(right: Any) -> Callable[..., Any]:
    return lambda door, access: access is not None


def runner_reads(right: Any) -> Callable[..., Any]:
    return lambda door, access: access == "read"


def door_by_sub(admitted: Admitted) -> Any:
    return "internal" if admitted.claims.sub.startswith("internal-agent:") else "runner"


def reads_inside_writes_outside(right: Any) -> Callable[..., Any]:
    return lambda door, access: access == ("read" if door == "internal" else "write")


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/org-is-stripped",
        breaks="GW-01",
        text="the org id is trimmed before it is used: another org's id is taken for ours",
        killed_by=DOORS + "the-org-is-taken-as-it-stands",
        patch=lambda seam: seam.wrap(trust, "usable_org_id", stripped),
    ),
    Mutant(
        "gateway/sub-without-org",
        breaks="GW-01",
        text="the internal agent's sub does not say for which org it came in",
        killed_by=DOORS + "the-agents-secret-and-an-org-open-the-internal-door[x-agent-secret]",
        patch=lambda seam: seam.wrap(trust, "internal_door", bare_sub),
    ),
    Mutant(
        "gateway/any-org-id-will-do",
        breaks="GW-02",
        text="an orgId that is no text becomes one",
        killed_by=DOORS + "an-org-that-is-no-text-closes-the-internal-door",
        patch=lambda seam: seam.replace(trust, "usable_org_id", any_text_of),
    ),
    Mutant(
        "gateway/empty-secret-matches",
        breaks="GW-02",
        ruling=6,
        text="without a configured secret the empty header opens the internal door",
        killed_by=DOORS + "an-empty-secret-opens-nothing[]",
        patch=lambda seam: seam.wrap(RunnerTokenGuard, "internal", empty_is_a_secret),
    ),
    Mutant(
        "gateway/first-secret-counts",
        breaks="GW-02",
        text="a secret header that is sent twice is read once",
        killed_by=DOORS + "the-secret-twice-is-nobodys-honest-request",
        patch=lambda seam: seam.replace(trust, "single_secret", first_of_several),
    ),
    Mutant(
        "gateway/wrong-secret-closes-both-doors",
        breaks="GW-02",
        text="a wrong secret is 401 at once: a valid runner's token beside it is not looked at",
        killed_by=DOORS + "a-wrong-secret-closes-only-its-own-door[wrong]",
        patch=lambda seam: seam.wrap(RunnerTokenGuard, "runner", wrong_secret_ends_it),
    ),
    Mutant(
        "gateway/bearer-closes-the-internal-door",
        breaks="GW-02",
        ruling=1,
        text="a request with a bearer never gets to the internal door",
        killed_by=DOORS + "a-garbage-bearer-does-not-close-the-internal-door[Bearer garbage]",
        patch=lambda seam: seam.wrap(RunnerTokenGuard, "internal", bearer_first),
    ),
    Mutant(
        "gateway/secret-compared-by-its-beginning",
        breaks="GW-02",
        text="a text that begins with the secret is the secret",
        killed_by=DOORS + "a-wrong-secret-closes-only-its-own-door[{secret}x]",
        patch=lambda seam: seam.replace(OpaqueSecret, "matches", starts_with),
    ),
    Mutant(
        "gateway/internal-door-allows-write",
        breaks="GW-05",
        ruling=2,
        text="a write in the manifest goes through the internal door",
        killed_by=DOORS + "a-write-goes-through-the-runner-door-only[False]",
        patch=lambda seam: seam.wrap(tool_call, "class_admits", internal_writes),
    ),
    Mutant(
        "gateway/runner-door-refuses-write",
        breaks="GW-05",
        ruling=2,
        text="read class only is asked of both doors",
        killed_by=DOORS + "a-write-goes-through-the-runner-door-only[False]",
        patch=lambda seam: seam.wrap(tool_call, "class_admits", runner_reads),
    ),
    Mutant(
        "gateway/door-inferred-from-sub",
        breaks="GW-05",
        ruling=2,
        text="which door admitted is read out of sub, which a token may set to any text",
        killed_by=DOORS + "a-write-goes-through-the-runner-door-only[True]",
        patch=lambda seam: seam.replace(tools, "door_of", door_by_sub),
    ),
    Mutant(
        "gateway/runner-door-is-for-writes",
        breaks="GW-05",
        ruling=2,
        text="the internal door is for reads, so the runner door is for writes alone",
        killed_by=DOORS + "a-read-goes-through-both-doors",
        patch=lambda seam: seam.wrap(tool_call, "class_admits", reads_inside_writes_outside),
    ),
]
