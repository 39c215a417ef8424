"""lasttick scenarios: `pytest scenarios/` replays them in virtual time.

Files import each other relatively: a wheel carries this folder as `lasttick.scenarios`.
"""
