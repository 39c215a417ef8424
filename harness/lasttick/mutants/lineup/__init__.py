"""Wrong permission-card adapters, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.lineup import crash, once, questions, recorded, replies, wild

MUTANTS = [
    *crash.MUTANTS,
    *once.MUTANTS,
    *questions.MUTANTS,
    *recorded.MUTANTS,
    *replies.MUTANTS,
    *wild.MUTANTS,
]
