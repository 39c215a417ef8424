"""Wrong versions of how the secret is held, and of what the agent's client sends to whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from lasttick.mutants import Mutant, Seam
from lasttick.reference.gateway import tool_gateway_client
from lasttick.reference.gateway.secret import OpaqueSecret

CLIENT = "gateway/client/"
AS_TEXT = ("__ne__", "__lt__", "__hash__", "__getitem__", "__iter__", "__contains__", "__len__")
"""What a text answers when it is asked."""


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


def as_text(name: str) -> Callable[..., Any]:
    def method(self: OpaqueSecret, *given: Any) -> Any:
        return getattr(self.reveal(), name)(*given)

    return method


def a_text(seam: Seam) -> AbstractContextManager[None]:
    @contextmanager
    def all_of_them() -> Any:
        with ExitStack() as stack:
            for name in AS_TEXT:
                stack.enter_context(seam.replace(OpaqueSecret, name, as_text(name)))
            stack.enter_context(seam.replace(OpaqueSecret, "__bool__", lambda self: True))
            for name in ("__reduce__", "__reduce_ex__"):
                stack.enter_context(seam.replace(OpaqueSecret, name, getattr(object, name)))
            yield

    return all_of_them()


def unset_as_text(right: Any) -> Callable[..., Any]:
    """A token that is not there is written into the header all the same."""
    return lambda environ: right(environ) or {"authorization": f"Bearer {None}"}


def always(*_: Any) -> bool:
    return True


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/secret-can-be-compared",
        breaks="GW-04",
        text="the secret compares with ==, so any code may decide on it, and not in constant time",
        killed_by="gateway/client/the-secret-is-opaque",
        patch=lambda seam: seam.replace(OpaqueSecret, "__eq__", comparable),
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
    Mutant(
        "gateway/secret-is-a-text",
        breaks="GW-04",
        text="the secret can be hashed, indexed, walked, measured, ordered, pickled and asked whether it is there",
        killed_by=CLIENT + "the-secret-is-opaque[index]",
        patch=a_text,
    ),
    Mutant(
        "gateway/client-sends-without-credential",
        breaks="GW-14",
        text="without any credential the bearer is the text None",
        killed_by=CLIENT + "with-no-credential-nothing-is-sent",
        patch=lambda seam: seam.wrap(tool_gateway_client, "credentials", unset_as_text),
    ),
    Mutant(
        "gateway/client-sends-any-secret",
        breaks="GW-14",
        text="a secret goes into the header as it is: behind a newline a header of somebody's choice begins",
        killed_by=CLIENT + r"a-secret-that-is-no-header-value-is-not-sent[new\nline]",
        patch=lambda seam: seam.replace(tool_gateway_client, "can_be_sent", always),
    ),
]
