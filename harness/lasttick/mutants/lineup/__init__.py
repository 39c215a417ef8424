"""Wrong permission-card adapters, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.lineup import (
    clarify,
    crash,
    inventory,
    laws,
    once,
    permission,
    questions,
    recorded,
    replies,
    results,
    time,
    wild,
)

MUTANTS = [
    *clarify.MUTANTS,
    *crash.MUTANTS,
    *inventory.MUTANTS,
    *laws.MUTANTS,
    *once.MUTANTS,
    *permission.MUTANTS,
    *questions.MUTANTS,
    *recorded.MUTANTS,
    *replies.MUTANTS,
    *results.MUTANTS,
    *time.MUTANTS,
    *wild.MUTANTS,
]
