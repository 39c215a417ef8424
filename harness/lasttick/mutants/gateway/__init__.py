"""Wrong gateways, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.gateway import agent, doors, ledger, lists, order, tenant, turns, upstream

MUTANTS = [
    *agent.MUTANTS,
    *doors.MUTANTS,
    *ledger.MUTANTS,
    *lists.MUTANTS,
    *order.MUTANTS,
    *tenant.MUTANTS,
    *turns.MUTANTS,
    *upstream.MUTANTS,
]
