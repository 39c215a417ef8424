"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import compare, routes, silence

MUTANTS = [
    *compare.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
]
