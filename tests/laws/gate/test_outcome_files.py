"""What is printed of a peer's text."""

from __future__ import annotations

import pytest

from lasttick.laws.gate.outcome_files import plain


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('event: message\r\ndata: {"id": 1}\r\n\r\n', 'event: message data: {"id": 1}'),
        ("  [0.000-0.001 s] bob\n", "  [0.000-0.001 s] bob"),
        ("a\x1b[2Jb\u202ec", "a?[2Jb?c"),
        ("", ""),
    ],
)
def test_a_reply_is_one_line_that_moves_no_cursor(text: str, line: str) -> None:
    assert plain(text) == line
