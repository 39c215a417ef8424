"""What a person reads: a function of the evidence, without clock, network or anything of the run itself."""

from lasttick.report.divergence import side_by_side
from lasttick.report.failure import failure_text, replay_command, run_command
from lasttick.report.lanes import lanes

__all__ = ["failure_text", "lanes", "replay_command", "run_command", "side_by_side"]
