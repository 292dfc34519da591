"""The one thread that the picture of the cluster is changed on and decisions are made on, one after the other."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class Worker:
    """Does things in the order of asking."""

    def __init__(self) -> None:
        self.problem = ""  # why the picture of the cluster cannot be trusted any more
        self._posted = self._taken = 0  # each is changed by one thread only
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="kubewasp-extender")

    @property
    def backlog(self) -> int:
        """How many changes wait to be taken in."""
        return self._posted - self._taken

    def post(self, change: Callable[[], None]) -> None:
        """Has a change taken in, soon. To be called on the event loop."""
        self._posted += 1
        self._executor.submit(self._take, change)

    async def ask(self, question: Callable[[bytes], Result], body: bytes) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._executor, question, body)

    async def caught_up(self) -> None:
        """Returns when all that was posted so far is done."""
        await asyncio.get_running_loop().run_in_executor(self._executor, lambda: None)

    def stop(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _take(self, change: Callable[[], None]) -> None:
        try:
            change()
        except Exception as error:  # what was half taken in would be believed for ever
            logger.exception("a change of the cluster could not be taken in")
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            self._taken += 1
