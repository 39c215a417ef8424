"""Wrong host agents, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.hostagent import access, calls, handles, lease, official

MUTANTS = [*access.MUTANTS, *calls.MUTANTS, *handles.MUTANTS, *lease.MUTANTS, *official.MUTANTS]
