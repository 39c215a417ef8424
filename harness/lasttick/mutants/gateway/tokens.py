"""Wrong versions of the runner door: whose token is taken, and until when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lasttick.model import trust
from lasttick.mutants import Mutant
from lasttick.reference.gateway import http_json, jwt_door

TOKEN = "gateway/doors/a-token-that-is-not-a-runners-is-refused"
DOORS = "gateway/doors/"


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


def org_of_any_kind(right: Any) -> Callable[..., Any]:
    """Whatever stands there names the org."""

    def door(payload: Mapping[str, Any], now_s: float) -> Any:
        if payload.get("org_id") is None:
            return right(payload, now_s)
        admitted = right({**payload, "org_id": "any"}, now_s)
        claims = None if admitted is None else replace(admitted.claims, org_id=str(payload["org_id"]))
        return None if claims is None else replace(admitted, claims=claims)

    return door


def any_exp(exp: Any, now_s: float) -> bool:
    """That there is one is enough."""
    return bool(exp)


def first_authorization(right: Any) -> Callable[..., Any]:
    """Of several Authorization headers the first counts."""

    def bearer(headers: list[tuple[bytes, bytes]]) -> Any:
        return right([header for header in headers if header[0].lower() == b"authorization"][:1])

    return bearer


MUTANTS: list[Mutant] = [
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
        "gateway/audience-unread",
        breaks="GW-03",
        text="a token for another audience is let in, and one for none",
        killed_by=TOKEN + "[another aud]",
        patch=lambda seam: seam.wrap(trust, "runner_door", lambda right: payload_claims_loosely(right, aud="runner")),
    ),
    Mutant(
        "gateway/org-of-any-kind",
        breaks="GW-03",
        text="a token's org may be a number or blank, and its caller is let in",
        killed_by=TOKEN + "[org is a number]",
        patch=lambda seam: seam.wrap(trust, "runner_door", org_of_any_kind),
    ),
    Mutant(
        "gateway/any-exp-will-do",
        breaks="GW-03",
        text="a token that says when it ends is let in, whatever it says",
        killed_by=TOKEN + "[exp is text]",
        patch=lambda seam: seam.replace(trust, "unexpired", any_exp),
    ),
    Mutant(
        "gateway/first-authorization-counts",
        breaks="GW-03",
        text="of two Authorization headers the first is read",
        killed_by=DOORS + "a-token-that-was-tampered-with-is-refused[twice]",
        patch=lambda seam: seam.wrap(http_json, "bearer", first_authorization),
    ),
]
