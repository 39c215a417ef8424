"""Wrong host agents, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.hostagent import access, calls, lease, soak

MUTANTS = [*access.MUTANTS, *calls.MUTANTS, *lease.MUTANTS, *soak.MUTANTS]
