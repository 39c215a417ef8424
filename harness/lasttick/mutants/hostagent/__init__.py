"""Wrong host agents, by topic. Ids are those of the contract's rulings where a ruling names one."""

from lasttick.mutants.hostagent import (
    access,
    calls,
    clients,
    console,
    habits,
    handles,
    hosts,
    lease,
    official,
    soak,
    store_away,
)

MUTANTS = [
    *access.MUTANTS,
    *calls.MUTANTS,
    *clients.MUTANTS,
    *console.MUTANTS,
    *habits.MUTANTS,
    *handles.MUTANTS,
    *hosts.MUTANTS,
    *lease.MUTANTS,
    *official.MUTANTS,
    *soak.MUTANTS,
    *store_away.MUTANTS,
]
