"""The laws on a live target: begun, planned, played together, ruled by scope and baseline, and nothing left behind."""
