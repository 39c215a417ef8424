"""Wrong permission-card adapters, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.lineup import once, questions, replies, wild

MUTANTS = [
    *once.MUTANTS,
    *questions.MUTANTS,
    *replies.MUTANTS,
    *wild.MUTANTS,
]
