"""Wrong versions of whose run it is, and of what its manifest lets it call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from lasttick.model import tool_call
from lasttick.model.trust import Admitted
from lasttick.mutants import Mutant
from lasttick.reference.gateway import tools
from lasttick.reference.gateway.database import agent_run
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.ledger import Attempt, Ledger
from lasttick.reference.gateway.runs import Run, Runs
from lasttick.reference.gateway.tools import ToolGatewayService

TENANT = "gateway/tenant/"
MANIFEST = "gateway/manifest/"

STRANGER = TENANT + "another-tenants-run-is-a-run-that-is-not-there"


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


def yes(*_: Any) -> bool:
    return True


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
]
