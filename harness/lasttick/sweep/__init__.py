"""Many runs in batches: every scenario against every mutant, over a pool of processes."""
