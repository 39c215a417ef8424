"""The rules as pure functions and frozen dataclasses. No clock, no I/O, no logging, nothing from third parties."""
