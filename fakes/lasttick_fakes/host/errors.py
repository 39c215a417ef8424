"""What a person may be disappointed by."""

from __future__ import annotations


class NotSeen(AssertionError):
    """What was waited for did not come. The message says what, for how long, and what is on the screen instead."""
