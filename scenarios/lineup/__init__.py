"""Stories of permission cards: what an agent may do because a person said yes, and only because of that."""
