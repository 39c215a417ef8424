"""Who is logged in to the console? Sessions by unguessable ids, made here and nowhere else.

An id that a browser brings is only ever looked up, never taken over, so that nobody can plant one in it and wait for
the login (session fixation). A session ends here, not by forgetting a cookie: whoever copied it has nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from lasttick.ports import Clock, Entropy
from lasttick.reference.hostagent.tokens import token_urlsafe

SESSION_BYTES = 32
SESSIONS_MAX = 100
SESSION_NS = 12 * 3_600 * 1_000_000_000


class ConsoleSessions:
    """At most SESSIONS_MAX, each for half a day. `on_end(session, why)` hears of each that is ended before its time."""

    def __init__(self, clock: Clock, entropy: Entropy, on_end: Callable[[str, str], None]) -> None:
        self._clock = clock
        self._entropy = entropy
        self._on_end = on_end
        self._opened_ns: dict[str, int] = {}

    def log_in(self, presented: str) -> str:
        """A new session for who gave the password. `presented`: the id that came with the login; it ends here."""
        self.end(presented, "logged in anew")
        while len(self._opened_ns) >= SESSIONS_MAX:
            self.end(next(iter(self._opened_ns)), "too many sessions")  # the oldest
        session = token_urlsafe(self._entropy, SESSION_BYTES)
        self._opened_ns[session] = self._clock.now_ns()
        return session

    def is_open(self, session: str) -> bool:
        # A look-up may take a different time for a better guess; 32 unguessable bytes do not care.
        return session in self._opened_ns and self._clock.now_ns() < self.ends_ns(session)

    def ends_ns(self, session: str) -> int:
        """The first instant at which the session is over by itself. Raises KeyError for one that is not known."""
        return self._opened_ns[session] + SESSION_NS

    def end(self, session: str, why: str) -> None:
        """The session is over, for everybody who has its id. Nothing happens for an unknown one."""
        if self._opened_ns.pop(session, None) is not None:
            self._on_end(session, why)
