"""From a sentence to a route: text, inputs, weather, score, autofill, questions. Source: contract vaultclaw 18."""
