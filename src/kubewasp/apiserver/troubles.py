"""Tells the log of troubles with the API server. What concerns all watches alike is told once, not by each of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kubewasp.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from kubewasp.apiserver.errors import ApiError

_TOLD_AGAIN_AFTER: Final = 30.0

logger = logging.getLogger(__name__)


class Troubles:
    """Shared by those who follow one API server."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._told_at: dict[str, float] = {}
        self._trouble_of: dict[str, str] = {}

    def met(self, resource: str, error: ApiError, retry: float) -> None:
        """A resource cannot be followed; it is tried again after `retry` seconds."""
        level = logging.WARNING
        if error.is_expired:
            level = logging.DEBUG  # happens to everybody, and a new list mends it
        else:
            trouble = error.message if _concerns_all(error) else resource
            self._trouble_of[resource] = trouble
            now = self._clock.now()
            if trouble != resource and now - self._told_at.get(trouble, -_TOLD_AGAIN_AFTER) < _TOLD_AGAIN_AFTER:
                level = logging.DEBUG
            else:
                self._told_at[trouble] = now
        told = {"resource": resource, "err": str(error), "retry": round(retry, 1)}
        logger.log(level, "Lost touch with the API server", extra=told)

    def ended(self, resource: str) -> None:
        """The resource can be followed again."""
        trouble = self._trouble_of.pop(resource, None)
        if trouble is not None and self._told_at.pop(trouble, None) is not None:
            logger.info("In touch with the API server again", extra={"resource": resource})


def _concerns_all(error: ApiError) -> bool:
    """No answer, unknown credentials, a server in trouble: not a matter of what was asked for."""
    return error.status in {0, 401, 429} or error.status >= 500
