"""A fake vault daemon: connectors, policy, jobs and plan runs that wait for a person, behind HTTP."""

from lasttick_fakes.vaultd.app import VaultDaemon
from lasttick_fakes.vaultd.connectors import Connector, Policy
from lasttick_fakes.vaultd.principals import DEFAULT_TOKENS, SCOPES, Principal
from lasttick_fakes.vaultd.state import Person, VaultState, load
from lasttick_fakes.vaultd.trouble import Trouble

__all__ = [
    "DEFAULT_TOKENS",
    "SCOPES",
    "Connector",
    "Person",
    "Policy",
    "Principal",
    "Trouble",
    "VaultDaemon",
    "VaultState",
    "load",
]
