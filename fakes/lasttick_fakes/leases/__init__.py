"""One lease store for several host agents, in memory, with the trouble that a Redis or PostgreSQL far away can make."""

from lasttick_fakes.leases.server import FakeLeaseServer, Link, Way
from lasttick_fakes.leases.table import LeaseTable

__all__ = ["FakeLeaseServer", "LeaseTable", "Link", "Way"]
