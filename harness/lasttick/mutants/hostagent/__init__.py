"""Wrong host agents, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.hostagent import access, calls, hosts, lease, store_away

MUTANTS = [*access.MUTANTS, *calls.MUTANTS, *hosts.MUTANTS, *lease.MUTANTS, *store_away.MUTANTS]
