"""GW-03: the runner door, with the times of our clock and nobody else's."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.clock import EPOCH, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.trust import Admitted, Claims
from lasttick.reference.gateway.jwt_door import JwtDoor, verified_payload

KEY = "k" * 32
LONG_KEY = KEY * 4
NOW = int(EPOCH.timestamp())
GOOD = {"sub": "runner-7", "org_id": "org-a", "role": "runner", "aud": "runner", "exp": NOW + 60}
ADMITTED = Admitted("runner", Claims("runner-7", "org-a", "runner", "runner"))


def admit(token: str | None, *, at_s: float = 0.0, key: str | None = KEY) -> Admitted | None:
    async def main(loop: VirtualLoop) -> Admitted | None:
        clock = VirtualClock(loop)
        await clock.sleep(at_s)
        return JwtDoor(key, clock).admit(token)

    return run_virtual(main)


def signed(payload: Any, key: str = KEY, **header: Any) -> str:
    """Signed by hand, so that the payload can be anything."""

    def coded(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    head = coded(json.dumps({"alg": "HS256", "typ": "JWT", **header}).encode())
    body = coded(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    return f"{head}.{body}.{coded(hmac.new(key.encode(), f'{head}.{body}'.encode(), hashlib.sha256).digest())}"


def test_a_good_token() -> None:
    assert admit(jwt.encode(GOOD, KEY, "HS256")) == ADMITTED
    assert admit(signed(GOOD)) == ADMITTED


@pytest.mark.parametrize(("at_s", "open_"), [(0, True), (59.999, True), (60, False), (60.001, False), (3_000, False)])
def test_expiry_is_by_our_clock_without_leeway(at_s: float, open_: bool) -> None:
    assert (admit(signed(GOOD), at_s=at_s) is not None) is open_


@pytest.mark.parametrize(("at_s", "open_"), [(0, False), (9.999, False), (10, True), (10.001, True)])
def test_not_before_is_by_our_clock(at_s: float, open_: bool) -> None:
    assert (admit(signed({**GOOD, "nbf": NOW + 10}), at_s=at_s) is not None) is open_


def test_the_machines_clock_has_no_say() -> None:
    """The virtual wall stands at the epoch of 2026; a token of a minute from there is open, whatever today is."""
    assert admit(signed({**GOOD, "iat": NOW + 10**9, "exp": NOW + 1})) is not None
    assert admit(signed({**GOOD, "exp": NOW})) is None


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None},
        {"exp": str(NOW + 60)},
        {"exp": True},
        {"exp": [NOW + 60]},
        {"aud": ["runner"]},
        {"aud": ["runner", "other"]},
        {"aud": "Runner"},
        {"aud": None},
        {"role": "admin"},
        {"role": None},
        {"role": ["runner"]},
        {"org_id": None},
        {"org_id": ""},
        {"org_id": "  "},
        {"org_id": 7},
        {"org_id": ["org-a"]},
        {"nbf": NOW + 1},
        {"nbf": "soon"},
        {"nbf": None},
    ],
)
def test_wrong_claims(claims: dict[str, Any]) -> None:
    assert admit(signed({**GOOD, **claims})) is None


@pytest.mark.parametrize("missing", ["exp", "aud", "role", "org_id"])
def test_missing_claims(missing: str) -> None:
    assert admit(signed({name: value for name, value in GOOD.items() if name != missing})) is None


def test_infinity_is_no_time() -> None:
    text = json.dumps(GOOD).replace(str(NOW + 60), "1e999").encode()
    assert admit(signed(text)) is None


def _unsigned() -> str:
    return jwt.encode(GOOD, None, "none")


@pytest.mark.parametrize(
    "token",
    [
        None,
        "",
        ".",
        "..",
        "a.b.c",
        signed(GOOD, key="w" * 32),
        signed(GOOD, alg="none"),
        signed(GOOD, alg="HS512"),
        jwt.encode(GOOD, LONG_KEY, "HS512"),
        signed(GOOD, alg="RS256"),
        signed(GOOD, crit=["exp"]),
        _unsigned(),
        signed(GOOD)[:-4],
        signed(GOOD).rpartition(".")[0] + ".",
        signed(GOOD).replace(".", "..", 1),
        signed(b"[]"),
        signed(b"null"),
        signed(b"not json"),
        signed(b"\xff\xfe"),
        signed(b'{"exp": ' + b"9" * 5_000 + b"}"),
        signed(b"[" * 200_000),
        "x" * 60_000,
        "\x00\ud800",
    ],
    ids=range(23),
)
def test_not_our_token(token: str | None) -> None:
    assert admit(token) is None
    assert admit(token, key=LONG_KEY) is None


def test_without_a_key_the_door_is_closed() -> None:
    assert admit(signed(GOOD, key=""), key=None) is None


@given(st.text(alphabet=st.characters(max_codepoint=127)), st.text())
def test_no_text_crashes_it(ascii_text: str, text: str) -> None:
    assert verified_payload(ascii_text, KEY) is None
    assert verified_payload(text, KEY) is None


@given(
    st.dictionaries(
        st.sampled_from(["exp", "nbf", "aud", "role", "org_id", "sub", "iat", "jti", "iss"]),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.text()),
    )
)
def test_no_payload_crashes_it(claims: dict[str, Any]) -> None:
    found = admit(signed({**GOOD, **claims}))
    assert found is None or found.claims.aud == "runner"
