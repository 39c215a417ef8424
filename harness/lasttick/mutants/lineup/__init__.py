"""Wrong permission-card adapters, by topic. Ids are those of the contract where it names one."""

from lasttick.mutants.lineup import crash, recorded

MUTANTS = [
    *crash.MUTANTS,
    *recorded.MUTANTS,
]
