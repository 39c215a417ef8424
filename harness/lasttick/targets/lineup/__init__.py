"""The permission-card adapter of a world, its agent, its chat host and its model, in every mode."""
