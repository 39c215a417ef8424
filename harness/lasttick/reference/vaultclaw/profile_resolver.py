"""How does a set of requirements come by a profile? Look at those that exist; if none fits, have the minimal one made.

What the vault gives back for a new profile decides, and if that is another profile or none, nothing is executed with
it. Source: contract vaultclaw 12 ("Resolve"); ruling VC-16; VC-09.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lasttick.model.vaultclaw import profiles
from lasttick.model.vaultclaw.arguments import string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.profiles import Match, Requirement
from lasttick.model.vaultclaw.unbounded_profile import CONNECTOR_ID, VERB, Profile, decode
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer

WRITE_SCOPE = "connectors.unbounded.profiles.write"


@dataclass(frozen=True, slots=True)
class ProfileResolution:
    """The profile to use, how well it fits, and whether it was made for this."""

    profile: Profile
    match: Match
    created: bool


async def resolve(vault: Vault, requirements: Sequence[Requirement], *, auto_create: bool) -> ProfileResolution:
    """Normalised requirements to a profile.

    Raises ToolFailure: MCP_UNBOUNDED_PROFILE_REQUIRED (none fits and none may be made), MCP_INTERNAL (what was made
    reads back as something else), and what the vault's failures are mapped to.
    """
    found = profiles.choose(await existing(vault), requirements)
    if found is not None:
        return ProfileResolution(*found, created=False)
    if not auto_create:
        raise ToolFailure(
            "MCP_UNBOUNDED_PROFILE_REQUIRED",
            "no unbounded profile allows these secrets; expected one that meets all of details.requirements; have one "
            "made, or let auto_create_profiles be true",
            {"requirements": profiles.as_json(requirements)},
        )
    profile = await create(vault, requirements)
    return ProfileResolution(profile, profiles.match(profile, requirements), created=True)


async def existing(vault: Vault) -> list[Profile]:
    """The profiles of the connector that can be read, in the vault's order."""
    listed = (await vault.profiles({"connector_id": CONNECTOR_ID, "verb": VERB})).member("items")
    found = []
    for item in listed if isinstance(listed, list) else []:
        profile_id = string(item.get("profile_id")) if isinstance(item, dict) else ""
        if not profile_id:
            continue
        try:
            profile = decode((await vault.profile(profile_id)).member("profile"))
        except ToolFailure:
            continue
        # One that goes by another id than it is listed under could not be named in a request.
        if profile is not None and profile.profile_id == profile_id:
            found.append(profile)
    return found


async def create(vault: Vault, requirements: Sequence[Requirement]) -> Profile:
    """Have the minimal profile made, and read it back."""
    minimal = profiles.minimal(requirements)
    key = profiles.idempotency_key_of(requirements)
    try:
        await vault.upsert_profile(minimal.as_json(), key)
    except ToolFailure as failure:
        raise _refused(failure, requirements, key) from failure
    try:
        answer = await vault.profile(minimal.profile_id)
    except ToolFailure:
        return minimal
    return read_back(answer, minimal)


def read_back(answer: VaultAnswer, expected: Profile) -> Profile:
    """The profile that was made, as the vault has it. Raises ToolFailure: it is none, or another one."""
    profile = decode(answer.member("profile"))
    if profile is not None and profile.profile_id == expected.profile_id:
        return profile
    raise ToolFailure(
        "MCP_INTERNAL",
        f"the new profile reads back as {profile.profile_id if profile else 'no profile'!r}; expected "
        f"{expected.profile_id!r}, which was just made; nothing was executed; look at the vault's profiles",
        {"request_id": answer.request_id, "vault_http_status": answer.status},
    )


def _refused(failure: ToolFailure, requirements: Sequence[Requirement], key: str) -> ToolFailure:
    if failure.vault_code.upper() != "INSUFFICIENT_SCOPE":
        return failure
    return ToolFailure(
        "MCP_UNBOUNDED_PROFILE_REQUIRED",
        f"this agent may not make the profile that these secrets need; expected the scope {WRITE_SCOPE}; have "
        "it granted, or have somebody make a profile that meets details.requirements",
        {"requirements": profiles.as_json(requirements), "idempotency_key": key},
    )
