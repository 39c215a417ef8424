"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import protocol, routes, silence, tokens, vault_calls

MUTANTS = [
    *protocol.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *tokens.MUTANTS,
    *vault_calls.MUTANTS,
]
