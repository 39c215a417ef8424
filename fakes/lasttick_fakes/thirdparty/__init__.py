"""A fake third party: orders and a shop behind HTTP, its own log, and trouble on demand."""

from lasttick_fakes.thirdparty.app import ThirdParty
from lasttick_fakes.thirdparty.log import Seen
from lasttick_fakes.thirdparty.trouble import SHAPES, BadTrouble, Trouble

__all__ = ["SHAPES", "BadTrouble", "Seen", "ThirdParty", "Trouble"]
