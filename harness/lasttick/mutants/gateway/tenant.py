"""Wrong versions of whose run it is, what is checked in which order, and what is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from lasttick.model import tool_call
from lasttick.model.tool_call import Refusal
from lasttick.model.trust import Admitted
from lasttick.mutants import Mutant
from lasttick.reference.gateway import documents, executors, http_json, redaction, tool_gateway_client, tools
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.database import agent_run
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.humanwork import Humanwork
from lasttick.reference.gateway.ledger import Attempt, Ledger
from lasttick.reference.gateway.runs import Run, Runs
from lasttick.reference.gateway.tools import ToolGatewayService

TENANT = "gateway/tenant/"
MANIFEST = "gateway/manifest/"
ORDER = "gateway/order/"
LEDGER = "gateway/ledger/"
UPSTREAM = "gateway/upstream/"

STRANGER = TENANT + "another-tenants-run-is-a-run-that-is-not-there"
FIRST_FAILS = ORDER + "the-first-check-that-fails-answers[internal]"
CHANGED = ORDER + "what-changed-since-the-run-began-counts"


# -- whose run it is


def org_of_the_body(admitted: Admitted, body: Mapping[str, Any]) -> str:
    said = body.get("orgId")
    return said if isinstance(said, str) else admitted.claims.org_id


def says_whose(right: Any) -> Callable[..., Any]:
    """A run of another organisation is refused in other words than one that is not there."""

    async def execute(self: ToolGatewayService, admitted: Admitted, body: dict[str, Any]) -> Any:
        try:
            return await right(self, admitted, body)
        except Refused as refused:
            if refused.refusal.code == "RUN_NOT_FOUND" and self._runs.by_id(body["runId"]) is not None:
                raise Refused(replace(refused.refusal, message="this run is another organisation's")) from None
            raise

    return execute


def by_id_only(self: Runs, run_id: str, org_id: str) -> Run | None:
    """Whoever names a run's id is its owner."""
    run = self.by_id(run_id)
    return None if run is None else replace(run, org_id=org_id)


def near_enough(right: Any) -> Callable[..., Any]:
    """Ids are trimmed and folded before they are looked up."""
    return lambda self, run_id, org_id: right(self, run_id.strip("{} \x00").lower(), org_id)


def in_the_runs_ledger(right: Any) -> Callable[..., Any]:
    """The row goes to the organisation of the run that was named."""

    def _row(self: Ledger, attempt: Attempt) -> dict[str, Any]:
        with self._database.begin() as connection:
            victim = connection.scalar(sa.select(agent_run.c.org_id).where(agent_run.c.id == attempt.run_id))
        row: dict[str, Any] = right(self, attempt)
        return {**row, "org_id": victim or row["org_id"]}

    return _row


def checks_before_the_run(right: Any) -> Callable[..., Any]:
    """Policy and flag are asked of the caller's organisation before anybody looks for the run."""

    def facts(admitted: Admitted, call: Any, run: Any, organisation: Any, known: Any) -> Any:
        found = right(admitted, call, run, organisation, known)
        if run is None and not tool_call.flag_on(organisation.flags):
            return replace(found, run_found=True, run_active=True, in_manifest=True, access="read", policy_allows=True)
        return found

    return facts


# -- what a run may call


def by_slug(metadata: Any, name_action: str) -> bool:
    """Any action of a tool that is listed."""
    slug = name_action.partition(":")[0]
    return any(pair.partition(":")[0] == slug for pair in _listed(metadata))


def by_pattern(metadata: Any, name_action: str) -> bool:
    """A star stands for anything."""
    pairs = _listed(metadata)
    return name_action in pairs or "*" in pairs or f"{name_action.partition(':')[0]}:*" in pairs


def whatever_case(metadata: Any, name_action: str) -> bool:
    return name_action.strip().lower() in [pair.strip().lower() for pair in _listed(metadata)]


def within_the_text(metadata: Any, name_action: str) -> bool:
    """The list is joined, and the pair looked for in that."""
    return name_action in ",".join(_listed(metadata))


def _listed(metadata: Any) -> list[str]:
    return [pair for pair in (metadata.get("runtimeManifest") or {}).get("allowedTools", []) if isinstance(pair, str)]


def first_manifest_stays(right: Any) -> Callable[..., Any]:
    """What a run could call at its first call it can call for ever."""
    kept: dict[str, Mapping[str, Any]] = {}

    def find(self: Runs, run_id: str, org_id: str) -> Run | None:
        run = right(self, run_id, org_id)
        return None if run is None else replace(run, metadata=kept.setdefault(run.id, run.metadata))

    return find


def first_catalogue_stays(right: Any) -> Callable[..., Any]:
    """What an organisation was at its first call it stays."""

    def now(self: Catalogue, org_id: str) -> Any:
        kept = vars(self).setdefault("_kept", {})
        if org_id not in kept:
            kept[org_id] = right(self, org_id)
        return kept[org_id]

    return now


# -- in which order


def denied_after_the_fact(right: Any) -> Callable[..., Any]:
    """The policy is asked when the executor is done: the answer is the same, and the third party has been asked."""

    async def execute(self: ToolGatewayService, admitted: Admitted, body: dict[str, Any]) -> Any:
        try:
            return await right(self, admitted, body)
        except Refused as refused:
            if refused.refusal.code == "POLICY_DENIED":
                tool = body["toolName"]
                known = self._catalogue.tools()
                await self._executors.run(known.entries[tool], tool, body["action"], body["input"], run_id="")
            raise

    return execute


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


# -- what is written down


def refused_twice(right: Any) -> Callable[..., Any]:
    def refused(self: Ledger, attempt: Attempt, status: int, outcome: str) -> None:
        right(self, attempt, status, outcome)
        right(self, attempt, status, outcome)

    return refused


def never_closed(self: Ledger, seq: int | None, status: int | None, outcome: str) -> None:
    """The row of a call stays as it was opened."""


def not_written(self: Ledger, attempt: Attempt, status: int, outcome: str) -> None:
    """Only what was executed is worth a row."""


def row_of_the_unreadable(right: Any) -> Callable[..., Any]:
    """A body that can not be read leaves a row as well."""

    async def execute(self: ToolGatewayService, admitted: Admitted, body: dict[str, Any]) -> Any:
        try:
            return await right(self, admitted, body)
        except Refused as refused:
            if refused.refusal.status == 400:
                self._ledger.refused(Attempt(admitted, "", "", "", {}), 400, refused.refusal.code)
            raise

    return execute


def row_after_the_executor(right: Any) -> Callable[..., Any]:
    """The row is written in one go when the executor is done."""

    async def _run(self: ToolGatewayService, call: Any, attempt: Attempt, organisation: Any, known: Any) -> Any:
        result = await self._executors.run(
            known.entries[call.tool_name],
            call.tool_name,
            call.action,
            call.input,
            credentials=organisation.credentials.get(call.tool_name, {}),
            run_id=call.run_id,
        )
        self._ledger.refused(attempt, 200, "OK")
        return result

    return _run


def plain_only(secret: str) -> Any:
    """A secret is looked for as it stands."""
    if secret:
        yield secret


# -- who is slow, down or broken


def waits_for_ever(right: Any) -> Callable[..., Any]:
    def __init__(self: Executors, url: str | None, *, transport: Any, timeout_s: float) -> None:
        right(self, url, transport=transport, timeout_s=1e9)

    return __init__


def trusts_the_body(body: bytes) -> dict[str, Any] | None:
    """What is no JSON object is a result all the same."""
    parsed = http_json.parse_object(body)
    return {"text": body[:100].decode("latin-1")} if parsed is None else parsed


class LooseJson:
    """`http_json` as the executors see it."""

    BODY_MAX = http_json.BODY_MAX
    parse_object = staticmethod(trusts_the_body)


def tells_their_words(right: Any) -> Callable[..., Any]:
    """The third party's page goes on in the message."""

    async def _result(self: Executors, request: Any) -> Any:
        answer = await self._transport.handle_async_request(request)
        try:
            if answer.status_code >= 500:
                page = (await answer.aread()).decode("latin-1")
                raise executors.upstream(502, "UPSTREAM_ERROR", f"the third party said {page}")
        finally:
            await answer.aclose()
        return await right(self, request)

    return _result


def once_broken_stays_broken(right: Any) -> Callable[..., Any]:
    """A server that met one error answers every later call with it."""

    async def _execute(self: Humanwork, name: str, arguments: Mapping[str, Any]) -> Any:
        broken = vars(self).get("_broken")
        if broken is not None:
            raise broken
        try:
            return await right(self, name, arguments)
        except Exception as error:
            vars(self)["_broken"] = error
            raise

    return _execute


def error_is_a_result(right: Any) -> Callable[..., Any]:
    """A tool call that failed is told as an empty result."""

    async def _execute(self: Humanwork, name: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return await right(self, name, arguments)
        except tool_gateway_client.ToolFailed:
            return {}

    return _execute


MUTANTS = [
    Mutant(
        "gateway/body-org-overrides-token-org",
        breaks="GW-06",
        ruling=5,
        text="the organisation is the one that the body names, whatever the token says",
        killed_by=STRANGER + "[runner]",
        patch=lambda seam: seam.replace(tools, "tenant_of", org_of_the_body),
    ),
    Mutant(
        "gateway/404-differs-by-reason",
        breaks="GW-06",
        ruling=5,
        text="a run of somebody else's is refused in other words than one that is not there",
        killed_by=STRANGER + "[internal]",
        patch=lambda seam: seam.wrap(ToolGatewayService, "execute", says_whose),
    ),
    Mutant(
        "gateway/ledger-in-victims-org",
        breaks="GW-06",
        ruling=5,
        text="an attempt is written into the ledger of the organisation whose run it named",
        killed_by=STRANGER + "[internal]",
        patch=lambda seam: seam.wrap(Ledger, "_row", in_the_runs_ledger),
    ),
    Mutant(
        "gateway/lookup-by-id-only",
        breaks="GW-06",
        ruling=5,
        text="a run is found by its id alone, and is whoever's asks",
        killed_by=STRANGER + "[internal]",
        patch=lambda seam: seam.replace(Runs, "find", by_id_only),
    ),
    Mutant(
        "gateway/flag-before-tenant",
        breaks="GW-06",
        text="whether tools are on is asked before whose run it is",
        killed_by=TENANT + "nothing-of-the-caller-shows-that-a-run-is-there[flag off]",
        patch=lambda seam: seam.wrap(tools, "facts", checks_before_the_run),
    ),
    Mutant(
        "gateway/run-id-is-folded",
        breaks="GW-06",
        text="what is nearly a run's id is that run",
        killed_by=TENANT + "a-run-id-is-taken-letter-for-letter",
        patch=lambda seam: seam.wrap(Runs, "find", near_enough),
    ),
    Mutant(
        "gateway/manifest-unchecked",
        breaks="GW-07",
        text="what the manifest lists is not looked at",
        killed_by=MANIFEST + "what-is-taken-out-of-the-manifest-is-refused[internal]",
        patch=lambda seam: seam.replace(tools, "in_manifest", yes),
    ),
    Mutant(
        "gateway/manifest-by-slug",
        breaks="GW-07",
        text="every action of a tool that is listed may be called",
        killed_by=MANIFEST + "a-manifest-allows-what-it-lists-and-nothing-else",
        patch=lambda seam: seam.replace(tools, "in_manifest", by_slug),
    ),
    Mutant(
        "gateway/manifest-has-wildcards",
        breaks="GW-07",
        text="a star in a manifest stands for any action",
        killed_by=MANIFEST + "a-manifest-allows-what-it-lists-and-nothing-else",
        patch=lambda seam: seam.replace(tools, "in_manifest", by_pattern),
    ),
    Mutant(
        "gateway/manifest-in-any-case",
        breaks="GW-07",
        text="blanks and upper case make no other pair",
        killed_by=MANIFEST + "a-name-that-is-folded-or-cut-elsewhere-is-not-in-the-manifest",
        patch=lambda seam: seam.replace(tools, "in_manifest", whatever_case),
    ),
    Mutant(
        "gateway/manifest-as-text",
        breaks="GW-07",
        text="a pair is looked for in the joined text of the manifest",
        killed_by=MANIFEST + "a-manifest-allows-what-it-lists-and-nothing-else",
        patch=lambda seam: seam.replace(tools, "in_manifest", within_the_text),
    ),
    Mutant(
        "gateway/manifest-kept-from-the-first-call",
        breaks="GW-07",
        text="a tool that was taken out of the stored manifest goes on working",
        killed_by=MANIFEST + "what-is-taken-out-of-the-manifest-is-refused[internal]",
        patch=lambda seam: seam.wrap(Runs, "find", first_manifest_stays),
    ),
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
        patch=lambda seam: seam.wrap(ToolGatewayService, "execute", denied_after_the_fact),
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
    Mutant(
        "gateway/ledger-row-missing-on-refusal",
        breaks="GW-09",
        text="a refused attempt leaves no row",
        killed_by=LEDGER + "every-attempt-leaves-one-row[internal]",
        patch=lambda seam: seam.replace(Ledger, "refused", not_written),
    ),
    Mutant(
        "gateway/ledger-row-twice",
        breaks="GW-09",
        text="a refused attempt leaves two rows",
        killed_by=LEDGER + "every-attempt-leaves-one-row[internal]",
        patch=lambda seam: seam.wrap(Ledger, "refused", refused_twice),
    ),
    Mutant(
        "gateway/ledger-row-of-the-unreadable",
        breaks="GW-09",
        text="a body that can not be read leaves a row",
        killed_by=LEDGER + "every-attempt-leaves-one-row[internal]",
        patch=lambda seam: seam.wrap(ToolGatewayService, "execute", row_of_the_unreadable),
    ),
    Mutant(
        "gateway/ledger-row-after-the-executor",
        breaks="GW-09",
        text="while the third party is asked nothing is written, so an effect without a row is possible",
        killed_by=LEDGER + "the-row-is-there-before-the-executor-is-done",
        patch=lambda seam: seam.wrap(ToolGatewayService, "_run", row_after_the_executor),
    ),
    Mutant(
        "gateway/ledger-row-stays-open",
        breaks="GW-09",
        text="what came of an executed call is not written",
        killed_by=LEDGER + "the-row-is-there-before-the-executor-is-done",
        patch=lambda seam: seam.replace(Ledger, "closed", never_closed),
    ),
    Mutant(
        "gateway/redaction-off",
        breaks="GW-09",
        text="what a caller sends is written down as it is, secrets included",
        killed_by=LEDGER + "no-secret-is-written-down-wherever-a-caller-puts-it",
        patch=lambda seam: seam.replace(redaction.Redactor, "_found", no),
    ),
    Mutant(
        "gateway/redaction-of-the-plain-secret-only",
        breaks="GW-09",
        text="a secret in base64 or hex is written down",
        killed_by=LEDGER + "no-secret-is-written-down-wherever-a-caller-puts-it",
        patch=lambda seam: seam.replace(redaction, "disguises", plain_only),
    ),
    Mutant(
        "gateway/upstream-unbounded",
        breaks="GW-18",
        text="a third party that takes its time is waited for as long as it takes",
        killed_by=UPSTREAM + "a-slow-third-party-is-waited-for-until-its-bound[1000]",
        patch=lambda seam: seam.wrap(Executors, "__init__", waits_for_ever),
    ),
    Mutant(
        "gateway/upstream-garbage-is-a-result",
        breaks="GW-18",
        text="whatever a third party answers with 200 is a result",
        killed_by=UPSTREAM + "a-broken-third-party-is-a-code[garbage]",
        patch=lambda seam: seam.replace(executors, "http_json", LooseJson),
    ),
    Mutant(
        "gateway/upstream-words-passed-on",
        breaks="GW-18",
        text="the error page of a third party, which may repeat credentials, goes on to the caller",
        killed_by=UPSTREAM + "a-broken-third-party-is-a-code[5xx]",
        patch=lambda seam: seam.wrap(Executors, "_result", tells_their_words),
    ),
    Mutant(
        "gateway/client-waits-for-ever",
        breaks="GW-18",
        text="the MCP server waits for the gateway as long as it takes",
        killed_by=UPSTREAM + "a-gateway-that-never-answers-is-a-tool-error-in-bounded-time",
        patch=lambda seam: seam.replace(tool_gateway_client, "CALL_S", 1e9),
    ),
    Mutant(
        "gateway/server-stays-broken",
        breaks="GW-18",
        text="after one error the MCP server answers nothing else",
        killed_by=UPSTREAM + "the-agent-is-told-of-a-broken-gateway[down-options0-GATEWAY_UNREACHABLE]",
        patch=lambda seam: seam.wrap(Humanwork, "_execute", once_broken_stays_broken),
    ),
    Mutant(
        "gateway/tool-error-is-an-empty-result",
        breaks="GW-18",
        text="a call that failed looks to the model like one that found nothing",
        killed_by=UPSTREAM + "the-agent-is-told-of-a-broken-third-party[down]",
        patch=lambda seam: seam.wrap(Humanwork, "_execute", error_is_a_result),
    ),
]
