"""A fake Hermes: the agent program in both measured versions, in process or as `python -m lasttick_fakes.hermes`."""

from lasttick_fakes.hermes.builtin import Shell, toy_shell
from lasttick_fakes.hermes.child_env import child_env
from lasttick_fakes.hermes.config import ReadText, read_text
from lasttick_fakes.hermes.program import run_hermes
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, HABITS, folded

__all__ = [
    "DEFAULT_VERSION",
    "HABITS",
    "ReadText",
    "Shell",
    "child_env",
    "folded",
    "read_text",
    "run_hermes",
    "toy_shell",
]
