"""Where are the cookbooks that come with the project? A program that does not carry them must be told."""

from __future__ import annotations

from lasttick.reference.vaultclaw.start_up import PACKAGED

__all__ = ["PACKAGED"]
