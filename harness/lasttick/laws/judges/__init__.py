"""How a law judges what was seen: pure functions over answers and effects. Source: contract laws, "Verdicts"."""
