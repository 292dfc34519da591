"""Owner thread of an extender: cluster changes and requests, one after the other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from kubewasp.live.inbox import Inbox, OwnerThread, on_owner_thread

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

_STOP_SECONDS: Final = 20.0
_IDLE_SECONDS: Final = 60.0


class Worker(Inbox):
    """Inbox with its thread. After a failed change the state is unreliable, and `problem` is the cause."""

    def __init__(self) -> None:
        super().__init__()
        self.problem = ""
        self._thread = OwnerThread(self, lambda: _IDLE_SECONDS, name="kubewasp-extender", on_end=self._ended)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(_STOP_SECONDS)

    def post(self, action: Callable[[], None]) -> None:
        """Posts a change of the state. Safe from any thread."""
        super().post(lambda: self._take(action))

    async def ask(self, question: Callable[[bytes], Result], body: bytes) -> Result:
        """Answers a request on the owner thread."""
        return await on_owner_thread(self, lambda: question(body))

    def _ended(self, error: BaseException | None) -> None:
        if error is not None:
            self.problem = f"{type(error).__name__}: {error}"

    def _take(self, change: Callable[[], None]) -> None:
        try:
            change()
        except Exception as error:
            logger.exception("Cluster change failed")
            self.problem = f"{type(error).__name__}: {error}"
