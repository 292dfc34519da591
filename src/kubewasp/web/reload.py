"""Looks now and then whether a guest's file has changed."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.web.guests import Guest

logger = logging.getLogger(__name__)


class Reloader:
    """A thread of its own: a guest may take seconds to compile, and requests are answered meanwhile."""

    def __init__(self, guests: Sequence[Guest], seconds: float) -> None:
        self._guests = guests
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kubewasp-reload", daemon=True)

    def start(self) -> None:
        if self._seconds > 0:
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def look(self) -> None:
        for guest in self._guests:
            guest.reload_if_changed()

    def _watch(self) -> None:
        while not self._stopping.wait(self._seconds):
            try:
                self.look()
            except Exception:
                logger.exception("looking for changed guests")
