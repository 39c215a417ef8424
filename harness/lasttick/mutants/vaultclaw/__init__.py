"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import catalog, routes, silence, sources

MUTANTS = [
    *catalog.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *sources.MUTANTS,
]
