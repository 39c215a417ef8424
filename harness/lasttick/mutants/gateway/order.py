"""Wrong versions of what is checked before a call, in which order, and as of when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lasttick.model import tool_call
from lasttick.model.tool_call import Refusal
from lasttick.model.trust import Admitted
from lasttick.mutants import Mutant
from lasttick.reference.gateway import documents, tools
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.runs import Runs
from lasttick.reference.gateway.tools import ToolGatewayService

ORDER = "gateway/order/"

FIRST_FAILS = ORDER + "the-first-check-that-fails-answers[internal]"
CHANGED = ORDER + "what-changed-since-the-run-began-counts"


def first_catalogue_stays(right: Any) -> Callable[..., Any]:
    """What an organisation was at its first call it stays."""

    def now(self: Catalogue, org_id: str) -> Any:
        kept = vars(self).setdefault("_kept", {})
        if org_id not in kept:
            kept[org_id] = right(self, org_id)
        return kept[org_id]

    return now


def after_the_fact(code: str) -> Callable[[Any], Callable[..., Any]]:
    """What is refused with this code is refused when the executor is done: the answer is the same, and the third party
    has been asked."""

    def wrong(right: Any) -> Callable[..., Any]:
        async def execute(self: ToolGatewayService, admitted: Admitted, body: dict[str, Any]) -> Any:
            try:
                return await right(self, admitted, body)
            except Refused as refused:
                if refused.refusal.code == code:
                    tool, action = body["toolName"], body["action"]
                    known = self._catalogue.tools()
                    if known.registry.access_of(tool, action) is not None:
                        await self._executors.run(known.entries[tool], tool, action, body["input"], run_id="")
                raise

        return execute

    return wrong


def asked_first(name: str, refusal: Refusal) -> Callable[[Any], Callable[..., Any]]:
    """One fact is looked at before all others but whose run it is."""

    def wrong(right: Any) -> Callable[..., Any]:
        return lambda facts: refusal if facts.run_found and not getattr(facts, name) else right(facts)

    return wrong


def state_last(right: Any) -> Callable[..., Any]:
    """Whether the run is over is asked when all else is right."""

    def first_refusal(facts: Any) -> Any:
        refusal = right(replace(facts, run_active=True))
        return refusal if refusal is not None else right(facts)

    return first_refusal


def class_of_the_registry(slug: str, action: str, bindings: Any, org_id: str, registry: Any) -> Any:
    """A binding that was withdrawn or narrowed is as good as it ever was."""
    return registry.access_of(slug, action)


def on_if_set(flags: Mapping[str, Any]) -> bool:
    return bool(flags.get("tool_dispatch_enabled"))


def only_what_is_given(known: Any, organisation: Any, slug: str) -> bool:
    """A credential that the tool needs and nobody gave is not missed."""
    return all(organisation.credentials.get(slug, {}).values())


def yes(*_: Any) -> bool:
    return True


def no(*_: Any) -> bool:
    return False


MUTANTS = [
    Mutant(
        "gateway/finished-run-executes",
        breaks="GW-08",
        ruling=12,
        text="a manifest outlives its run",
        killed_by=ORDER + "a-finished-run-calls-nothing[its answer]",
        patch=lambda seam: seam.replace(tool_call, "is_active", yes),
    ),
    Mutant(
        "gateway/operator-ends-no-run",
        breaks="GW-08",
        ruling=12,
        text="a run that an operator ended goes on until its answer",
        killed_by=ORDER + "a-finished-run-calls-nothing[the operator]",
        patch=lambda seam: seam.replace(Runs, "finish", no),
    ),
    Mutant(
        "gateway/policy-after-executor",
        breaks="GW-08",
        text="the policy is asked when the third party has been",
        killed_by=CHANGED + "[denied]",
        patch=lambda seam: seam.wrap(ToolGatewayService, "execute", after_the_fact("POLICY_DENIED")),
    ),
    Mutant(
        "gateway/manifest-after-executor",
        breaks="GW-07",
        text="the manifest is asked when the third party has been",
        killed_by="gateway/manifest/what-is-taken-out-of-the-manifest-is-refused[internal]",
        patch=lambda seam: seam.wrap(ToolGatewayService, "execute", after_the_fact("NOT_IN_MANIFEST")),
    ),
    Mutant(
        "gateway/policy-unchecked",
        breaks="GW-08",
        text="the organisation's policy has no say",
        killed_by=ORDER + "a-policy-is-about-one-action",
        patch=lambda seam: seam.replace(tool_call, "policy_allows", yes),
    ),
    Mutant(
        "gateway/flag-unchecked",
        breaks="GW-08",
        text="switching tools off stops no run that has a manifest",
        killed_by=CHANGED + "[switched off]",
        patch=lambda seam: seam.replace(tool_call, "flag_on", yes),
    ),
    Mutant(
        "gateway/flag-on-if-set",
        breaks="GW-08",
        text="any value of the flag but nothing is on, a text too",
        killed_by=CHANGED + "[the switch is a text]",
        patch=lambda seam: seam.replace(tool_call, "flag_on", on_if_set),
    ),
    Mutant(
        "gateway/credentials-unchecked",
        breaks="GW-08",
        text="a call goes out without its credentials",
        killed_by=CHANGED + "[a credential was emptied]",
        patch=lambda seam: seam.replace(documents, "credentials_complete", yes),
    ),
    Mutant(
        "gateway/needed-credential-not-missed",
        breaks="GW-08",
        text="a credential that the tool needs and the organisation never gave is not missed",
        killed_by=CHANGED + "[the tool now needs a credential]",
        patch=lambda seam: seam.replace(documents, "credentials_complete", only_what_is_given),
    ),
    Mutant(
        "gateway/withdrawn-binding-counts",
        breaks="GW-08",
        text="a binding that was withdrawn or narrowed since the run began still lets the tool be called",
        killed_by=CHANGED + "[binding back to draft]",
        patch=lambda seam: seam.replace(tools.tool_registry, "call_access", class_of_the_registry),
    ),
    Mutant(
        "gateway/catalogue-of-the-first-call",
        breaks="GW-08",
        text="registry and organisation are read once",
        killed_by=CHANGED + "[reclassified as write]",
        patch=lambda seam: seam.wrap(Catalogue, "now", first_catalogue_stays),
    ),
    Mutant(
        "gateway/policy-before-class",
        breaks="GW-08",
        text="the policy is asked before the access class",
        killed_by=FIRST_FAILS,
        patch=lambda seam: seam.wrap(tool_call, "first_refusal", asked_first("policy_allows", tool_call.POLICY_DENIED)),
    ),
    Mutant(
        "gateway/flag-first",
        breaks="GW-08",
        text="the flag is asked before state, manifest, class and policy",
        killed_by=FIRST_FAILS,
        patch=lambda seam: seam.wrap(
            tool_call, "first_refusal", asked_first("flag_on", tool_call.TOOL_DISPATCH_DISABLED)
        ),
    ),
    Mutant(
        "gateway/state-last",
        breaks="GW-08",
        text="whether the run is over is asked last",
        killed_by=FIRST_FAILS,
        patch=lambda seam: seam.wrap(tool_call, "first_refusal", state_last),
    ),
]
