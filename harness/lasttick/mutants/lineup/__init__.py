"""Wrong permission-card adapters, by topic. Ids are those of the contract where it names one."""

from lasttick.mutants.lineup import clarify, inventory, laws, once, permission, questions, replies, results, time, wild

MUTANTS = [
    *clarify.MUTANTS,
    *inventory.MUTANTS,
    *laws.MUTANTS,
    *once.MUTANTS,
    *permission.MUTANTS,
    *questions.MUTANTS,
    *replies.MUTANTS,
    *results.MUTANTS,
    *time.MUTANTS,
    *wild.MUTANTS,
]
