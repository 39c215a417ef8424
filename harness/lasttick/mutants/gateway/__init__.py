"""Wrong gateways, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.gateway import (
    agent,
    boot,
    client,
    doors,
    fence,
    ledger,
    lists,
    order,
    requests,
    tenant,
    tokens,
    turns,
    upstream,
)

MUTANTS = [
    *agent.MUTANTS,
    *boot.MUTANTS,
    *client.MUTANTS,
    *doors.MUTANTS,
    *fence.MUTANTS,
    *ledger.MUTANTS,
    *lists.MUTANTS,
    *order.MUTANTS,
    *requests.MUTANTS,
    *tenant.MUTANTS,
    *tokens.MUTANTS,
    *turns.MUTANTS,
    *upstream.MUTANTS,
]
