"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import (
    catalog,
    compare,
    handoffs,
    journey,
    passports,
    profiles,
    protocol,
    routes,
    silence,
    smoke,
    sources,
    tenants,
    tokens,
    vault_calls,
    visibility,
    waits,
)

MUTANTS = [
    *catalog.MUTANTS,
    *compare.MUTANTS,
    *handoffs.MUTANTS,
    *journey.MUTANTS,
    *passports.MUTANTS,
    *profiles.MUTANTS,
    *protocol.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *smoke.MUTANTS,
    *sources.MUTANTS,
    *tenants.MUTANTS,
    *tokens.MUTANTS,
    *vault_calls.MUTANTS,
    *visibility.MUTANTS,
    *waits.MUTANTS,
]
