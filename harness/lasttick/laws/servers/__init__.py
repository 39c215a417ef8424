"""Servers that a check needs around a target: the recorder, the hop, and the dummies that no law may pass on."""
