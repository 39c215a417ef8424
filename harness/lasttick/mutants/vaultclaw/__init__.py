"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import (
    catalog,
    compare,
    handoffs,
    passports,
    profiles,
    protocol,
    routes,
    silence,
    sources,
    tokens,
    vault_calls,
    waits,
)

MUTANTS = [
    *catalog.MUTANTS,
    *compare.MUTANTS,
    *handoffs.MUTANTS,
    *passports.MUTANTS,
    *profiles.MUTANTS,
    *protocol.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *sources.MUTANTS,
    *tokens.MUTANTS,
    *vault_calls.MUTANTS,
    *waits.MUTANTS,
]
