"""Scenarios of the host agent: device leases."""
