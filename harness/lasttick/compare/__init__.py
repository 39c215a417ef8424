"""Two programs, one corpus of calls: where do their answers and vault calls differ, and which ruling says so?

`script` (what is played), `corpus` and `generated` -> `play` (on one side) -> `normal` (what is not compared is taken
out) -> `judge` with `rulings` (data). Everything but `play`, `sides` and `figures` is pure. Source: VC-21.
"""
