"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import compare, protocol, routes, silence, tokens, vault_calls

MUTANTS = [
    *compare.MUTANTS,
    *protocol.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *tokens.MUTANTS,
    *vault_calls.MUTANTS,
]
