"""Stories that a newcomer should see first."""
