"""lasttick."""
