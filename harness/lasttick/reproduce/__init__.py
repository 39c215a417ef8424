"""Recorded exchanges played again, broken and fixed, and what their evidence says. Source: contract lineup C-11."""
