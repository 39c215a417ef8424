"""lasttick_fakes."""
