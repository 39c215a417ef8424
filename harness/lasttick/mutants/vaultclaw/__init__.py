"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import compare, handoffs, passports, profiles, protocol, routes, silence, tokens, vault_calls, waits

MUTANTS = [
    *compare.MUTANTS,
    *handoffs.MUTANTS,
    *passports.MUTANTS,
    *profiles.MUTANTS,
    *protocol.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *tokens.MUTANTS,
    *vault_calls.MUTANTS,
    *waits.MUTANTS,
]
