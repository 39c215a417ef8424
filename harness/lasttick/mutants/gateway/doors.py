"""Wrong versions of who may come in, and of what may be called through which door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model import tool_call, trust
from lasttick.model.trust import Admitted, Claims
from lasttick.mutants import Mutant
from lasttick.reference.gateway import jwt_door, tool_gateway_client, tools
from lasttick.reference.gateway.guard import RunnerTokenGuard
from lasttick.reference.gateway.secret import OpaqueSecret

DOORS = "gateway/doors/"
CLIENT = "gateway/client/"


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


def no_exp_is_for_ever(right: Any) -> Callable[..., Any]:
    return lambda exp, now_s: exp is None or right(exp, now_s)


def expires_after(exp: Any, now_s: float) -> bool:
    """Still valid at `exp` itself."""
    return trust._is_number(exp) and now_s <= exp


def payload_claims_loosely(right: Any, **forced: Any) -> Callable[..., Any]:
    def door(payload: Mapping[str, Any], now_s: float) -> Any:
        return right({**payload, **forced}, now_s)

    return door


def aud_in_list(right: Any) -> Callable[..., Any]:
    def door(payload: Mapping[str, Any], now_s: float) -> Any:
        aud = payload.get("aud")
        return right(
            {**payload, "aud": trust.RUNNER} if isinstance(aud, list) and trust.RUNNER in aud else payload, now_s
        )

    return door


def org_not_needed(right: Any) -> Callable[..., Any]:
    def door(payload: Mapping[str, Any], now_s: float) -> Any:
        return right({**payload, "org_id": payload.get("org_id") or "org-a"}, now_s)

    return door


def nbf_unread(right: Any) -> Callable[..., Any]:
    return lambda payload, now_s: right({name: payload[name] for name in payload if name != "nbf"}, now_s)


def internal_writes(right: Any) -> Callable[..., Any]:
    return lambda door, access: access is not None


def runner_reads(right: Any) -> Callable[..., Any]:
    return lambda door, access: access == "read"


def door_by_sub(admitted: Admitted) -> Any:
    return "internal" if admitted.claims.sub.startswith("internal-agent:") else "runner"


def comparable(self: OpaqueSecret, other: Any) -> bool:
    return isinstance(other, OpaqueSecret) and self.reveal() == other.reveal()


def bearer_only(right: Any) -> Callable[..., Any]:
    def credentials(environ: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in right(environ).items() if name == "authorization"}

    return credentials


def fallback_as_secret(right: Any) -> Callable[..., Any]:
    def credentials(environ: Mapping[str, str]) -> dict[str, str]:
        headers = dict(right(environ))
        if "authorization" in headers:
            headers["x-agent-secret"] = headers["authorization"].removeprefix("Bearer ")
        return headers

    return credentials


MUTANTS = [
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
        "gateway/valid-at-exp",
        breaks="GW-03",
        text="a token is still valid at the instant of its exp",
        killed_by=DOORS + "a-token-is-valid-until-its-last-tick",
        patch=lambda seam: seam.replace(trust, "unexpired", expires_after),
    ),
    Mutant(
        "gateway/no-exp-is-for-ever",
        breaks="GW-03",
        text="a token without exp never ends",
        killed_by=DOORS + "a-token-that-is-not-a-runners-is-refused[no exp]",
        patch=lambda seam: seam.wrap(trust, "unexpired", no_exp_is_for_ever),
    ),
    Mutant(
        "gateway/list-of-audiences",
        breaks="GW-03",
        text="aud may be a list that holds runner",
        killed_by=DOORS + "a-token-that-is-not-a-runners-is-refused[aud is a list]",
        patch=lambda seam: seam.wrap(trust, "runner_door", aud_in_list),
    ),
    Mutant(
        "gateway/role-unread",
        breaks="GW-03",
        text="any role is let in by the runner door",
        killed_by=DOORS + "a-token-that-is-not-a-runners-is-refused[another role]",
        patch=lambda seam: seam.wrap(trust, "runner_door", lambda right: payload_claims_loosely(right, role="runner")),
    ),
    Mutant(
        "gateway/org-not-needed",
        breaks="GW-03",
        text="a token without an org is let in as some org's",
        killed_by=DOORS + "a-token-that-is-not-a-runners-is-refused[no org]",
        patch=lambda seam: seam.wrap(trust, "runner_door", org_not_needed),
    ),
    Mutant(
        "gateway/nbf-unread",
        breaks="GW-03",
        text="a token that is not valid yet is let in",
        killed_by=DOORS + "a-token-that-is-not-a-runners-is-refused[not yet valid]",
        patch=lambda seam: seam.wrap(trust, "runner_door", nbf_unread),
    ),
    Mutant(
        "gateway/signature-unchecked",
        breaks="GW-03",
        text="the token's signature is not checked: alg none, another key and another payload all do",
        killed_by=DOORS + "a-token-that-was-tampered-with-is-refused[alg none]",
        patch=lambda seam: seam.replace(
            jwt_door, "SIGNATURE_ONLY", {**jwt_door.SIGNATURE_ONLY, "verify_signature": False}
        ),
    ),
    Mutant(
        "gateway/secret-can-be-compared",
        breaks="GW-04",
        text="the secret compares with ==, so any code may decide on it, and not in constant time",
        killed_by="gateway/client/the-secret-is-opaque",
        patch=lambda seam: seam.replace(OpaqueSecret, "__eq__", comparable),
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
        "gateway/client-sends-bearer-only",
        breaks="GW-14",
        ruling=1,
        text="the client sends the secret as a bearer only, which the internal door does not read: 401 for ever",
        killed_by=CLIENT + "the-client-sends-the-secret-in-both-headers",
        patch=lambda seam: seam.wrap(tool_gateway_client, "credentials", bearer_only),
    ),
    Mutant(
        "gateway/fallback-token-as-agent-secret",
        breaks="GW-14",
        ruling=1,
        text="without the secret, the platform token is put into the secret's header",
        killed_by=CLIENT + "without-the-secret-there-is-a-bearer-only",
        patch=lambda seam: seam.wrap(tool_gateway_client, "credentials", fallback_as_secret),
    ),
    Mutant(
        "gateway/follows-redirects",
        breaks="GW-14",
        text="a 307 is followed, and whoever it leads to is handed the secret",
        killed_by=CLIENT + "a-redirect-is-not-followed",
        patch=lambda seam: seam.replace(tool_gateway_client, "FOLLOW_REDIRECTS", True),
    ),
]
