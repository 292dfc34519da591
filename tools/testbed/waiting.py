"""Waiting for a state of the world, never for a time to pass."""

import http.client
import time
from collections.abc import Callable
from typing import Final, TypeVar

from tools.testbed.client import ApiError

Found = TypeVar("Found")

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.25
# Servers are killed on purpose: until the time is up, an error means "not yet".
_NOT_YET: Final = (OSError, http.client.HTTPException, ApiError)


def wait_until(
    predicate: Callable[[], Found], timeout: float, what: str, state: Callable[[], object] | None = None
) -> Found:
    """The first true answer of `predicate`. After `timeout` seconds fails, telling `what` was waited for, the last
    answer or error, and the `state` of things.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        try:
            found = predicate()
            last = f"the last answer was {found!r}"
        except _NOT_YET as error:
            last = f"the last error was {type(error).__name__}: {error}"
        else:
            if found:
                return found
        if time.monotonic() > deadline:
            break
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    raise AssertionError(f"waited {timeout:g} s for {what}; {last}{_told(state)}")


def _told(state: Callable[[], object] | None) -> str:
    if state is None:
        return ""
    try:
        return f"\n{state()}"
    except _NOT_YET as error:
        return f"\n(the state cannot be read: {type(error).__name__}: {error})"
