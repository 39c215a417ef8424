"""Stories of permission cards: what an agent asks, what a person answers, and what of it reaches the agent."""
