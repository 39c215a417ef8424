"""The rules of the permission-card adapter: frames, cards, results, reply blocks, states."""
