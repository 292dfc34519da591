"""Exceptions that no code expects: logged with a traceback once per cause, counted, and survived."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Final

from kubewasp.framework.observer import NO_OBSERVER

if TYPE_CHECKING:
    from kubewasp.framework.observer import SchedulerObserver

logger = logging.getLogger(__name__)
# Causes are places in code: there are few. The bound is for code that is generated.
_MOST_CAUSES: Final = 1000


class UnexpectedErrors:
    """Log and count of unexpected exceptions. Safe from any thread."""

    def __init__(self, observer: SchedulerObserver = NO_OBSERVER) -> None:
        self._observer = observer
        self._known: set[tuple[str, str, int | None]] = set()

    def report(self, where: str, error: Exception, **fields: str) -> str:
        """Reports an exception at a place such as `attempt` or `hint`; returns its text."""
        self._observer.unexpected_error(where)
        text = described(error)
        cause = _cause(error)
        is_new = cause not in self._known and len(self._known) < _MOST_CAUSES
        if is_new:
            self._known.add(cause)
        extra = {"place": where, "cause": text} | fields
        logger.error("Unexpected error", extra=extra, exc_info=error if is_new else None)
        return text


def described(error: Exception) -> str:
    """Type and first line of the text, bounded: the text may be a guest's."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a text that cannot be made must not end anything either
        text = ""
    first = text.strip().partition("\n")[0]
    return f"{type(error).__name__}: {first[:500]}" if first else type(error).__name__


def _cause(error: Exception) -> tuple[str, str, int | None]:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return type(error).__name__, last.filename if last else "", last.lineno if last else 0
