"""Reload of a web server: changed guests, moved tags, and its configuration, on a thread of its own.

Compilation may take seconds. A failure changes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.rollout.file_watch import FileWatch
from kubewasp.web.handler_table import check_fixed, handler_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.web.handler_table import HandlerTable
    from kubewasp.web.web_config import WebConfig

logger = logging.getLogger(__name__)
# Seconds between two looks at tags, and between two at a request to reload.
TAG_INTERVAL: Final = 60.0
_IDLE: Final = 1.0


class WebReloader:
    """Reloads the handlers that `table` gives, by `replace`. `read` gives the configuration again.

    An interval of 0 disables watching; reloads on request remain.
    """

    def __init__(
        self,
        table: Callable[[], HandlerTable],
        replace: Callable[[HandlerTable], None],
        seconds: float,
        *,
        read: Callable[[], WebConfig] | None = None,
        file: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = {"success": 0, "failure": 0}
        self.last_failure = ""
        self._table = table
        self._replace = replace
        self._seconds = seconds
        self._read = read
        self._clock = clock
        self._files = FileWatch()
        self._files.follow([file] if file else [])
        self._tags_at = clock() + TAG_INTERVAL
        self._causes: list[str] = []
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kubewasp-reload", daemon=True)

    def start(self) -> None:
        if self._seconds > 0 or self._read is not None:
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()

    # ------------------------------------------------------------------ any thread

    def reload(self, cause: str, *, forgive: bool = False) -> None:  # noqa: ARG002 - no versions are judged here
        """Requests a reload of the configuration and of all tags."""
        self._causes.append(cause)
        self._wake.set()

    def status(self) -> dict[str, Any]:
        reloads = {"succeeded": self.counts["success"], "failed": self.counts["failure"]}
        guests = [guest.status() for guest in self._table().guests.values()]
        return {"plugins": [], "guests": guests, "reloads": reloads | {"lastFailure": self.last_failure}}

    # ------------------------------------------------------------------ the thread

    def reload_changed(self) -> None:
        """Does what is due."""
        if self._causes:
            cause = self._causes.pop()
            self._causes.clear()
            self._tags_at = self._clock()
            self.reload_configuration(cause)
        elif self._files.changed():
            self.reload_configuration("its file has changed")
        for guest in self._table().guests.values():
            guest.reload_if_changed()
        if self._clock() >= self._tags_at:
            self._tags_at = self._clock() + TAG_INTERVAL
            for guest in self._table().guests.values():
                guest.reload_if_moved()

    def reload_configuration(self, cause: str) -> None:
        """Replaces the handlers by those of the configuration as it is now. A failure changes nothing."""
        if self._read is None:
            return
        before = self._table()
        try:
            config = self._read()
            check_fixed(before.config, config)
            after = handler_table(config, before)
        except KubewaspError as error:
            self.counts["failure"] += 1
            self.last_failure = str(error)
            fields = {"cause": cause, "problem": str(error)}
            logger.error("Configuration reload failed, previous one stays", extra=fields)  # noqa: TRY400
            return
        self._replace(after)
        self.counts["success"] += 1
        self.last_failure = ""
        logger.info("Configuration reloaded", extra={"cause": cause, "routes": len(config.routes)})

    def _watch(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(self._seconds or _IDLE)
            self._wake.clear()
            if self._stopping.is_set() or not (self._seconds or self._causes):
                continue
            try:
                self.reload_changed()
            except Exception:
                logger.exception("Reload failed")
