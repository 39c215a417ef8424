"""lasttick scenarios: `pytest scenarios/` replays them in virtual time."""
