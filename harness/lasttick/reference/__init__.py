"""Right answers that run: small servers that keep every rule of the contracts, and against which mutants are made."""
