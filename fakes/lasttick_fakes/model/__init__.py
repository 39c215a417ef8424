"""A fake model: an OpenAI-compatible server that says what a script says, and keeps every request it got."""

from lasttick_fakes.model.record import Asked
from lasttick_fakes.model.script import BadScript, Call, Say, Script, parse_script
from lasttick_fakes.model.server import FakeModel

__all__ = ["Asked", "BadScript", "Call", "FakeModel", "Say", "Script", "parse_script"]
