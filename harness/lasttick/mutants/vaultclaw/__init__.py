"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import journey, routes, smoke, tenants, visibility

MUTANTS = [
    *journey.MUTANTS,
    *routes.MUTANTS,
    *smoke.MUTANTS,
    *tenants.MUTANTS,
    *visibility.MUTANTS,
]
