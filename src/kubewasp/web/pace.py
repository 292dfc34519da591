"""Choice of the place where requests of a route run: the event loop if they are short, a thread otherwise.

Handing a request to a thread and back costs more than a short guest call, and the response waits for two switches. A
call on the event loop delays all other requests, so it is ended after a few milliseconds and repeated on a thread
(docs/rationale.md, "Short web requests on the event loop").
"""

from __future__ import annotations

from typing import Final

# CPU time of a short request. The time limit on the event loop is 50 times as long.
SHORT_SECONDS: Final = 0.001
# Short requests in a row before the next one runs on the event loop. A full row makes up for one longer request:
# garbage collection or a busy machine prolongs any.
_IN_A_ROW: Final = 8
_MOST_IN_A_ROW: Final = 64
# Requests on threads after one that was ended on the event loop: twice as many each time, up to the last number.
_FIRST_PENALTY, _LAST_PENALTY = 64, 65536


class Pace:
    """Pace of one route. Updated by any thread; a lost update delays the choice by a request."""

    def __init__(self) -> None:
        self.is_short = False
        self._in_a_row = 0
        self._penalty = _FIRST_PENALTY
        self._since_penalty = 0

    def took(self, seconds: float) -> None:
        """A request has used so much CPU time."""
        if seconds > SHORT_SECONDS:
            if self._in_a_row == _MOST_IN_A_ROW:
                self._in_a_row = _IN_A_ROW
            else:
                self._in_a_row = min(self._in_a_row, 0)
                self.is_short = False
            return
        if self._in_a_row < _MOST_IN_A_ROW:
            self._in_a_row += 1
        if self._in_a_row >= _IN_A_ROW:
            self.is_short = True
            self._since_penalty += 1
            if self._since_penalty > _LAST_PENALTY:
                self._since_penalty, self._penalty = 0, _FIRST_PENALTY

    def overran(self, seconds: float, *, by_time: bool) -> None:
        """A request was ended on the event loop, after so much CPU time.

        A process that was given no CPU is no fault of the guest.
        """
        self.is_short = False
        if by_time and seconds < SHORT_SECONDS:
            self._in_a_row = 0
            return
        self._in_a_row = -self._penalty
        self._since_penalty = 0
        self._penalty = min(self._penalty * 2, _LAST_PENALTY)
