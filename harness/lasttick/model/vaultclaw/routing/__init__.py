"""From a sentence to a route: text, inputs, weather, score, autofill, what is missing. Source: contract vaultclaw 18."""
