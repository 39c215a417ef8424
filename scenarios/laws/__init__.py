"""Laws, on verbs only."""
