"""Wrong gateways, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.gateway import agent, doors, lists, tenant, turns

MUTANTS = [*agent.MUTANTS, *doors.MUTANTS, *lists.MUTANTS, *tenant.MUTANTS, *turns.MUTANTS]
