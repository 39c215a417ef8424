"""Wrong vault MCP servers, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.vaultclaw import handoffs, passports, profiles, routes, silence, waits

MUTANTS = [
    *handoffs.MUTANTS,
    *passports.MUTANTS,
    *profiles.MUTANTS,
    *routes.MUTANTS,
    *silence.MUTANTS,
    *waits.MUTANTS,
]
