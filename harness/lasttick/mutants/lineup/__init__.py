"""Wrong permission-card adapters, by topic. Ids are those of the contract where it names one."""

from lasttick.mutants.lineup import clarify, inventory, permission, results, time

MUTANTS = [
    *clarify.MUTANTS,
    *inventory.MUTANTS,
    *permission.MUTANTS,
    *results.MUTANTS,
    *time.MUTANTS,
]
