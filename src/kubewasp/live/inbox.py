"""Inbox and thread of the owner of the cluster state: one thread changes it, others post actions."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

# Actions per turn, so that the owner's own work is not starved.
_MAX_ACTIONS: Final = 1000


class Inbox:
    """Actions for the owner thread, in the order of posting."""

    def __init__(self) -> None:
        self._actions: deque[Callable[[], None]] = deque()
        self._awake = threading.Event()

    def __len__(self) -> int:
        return len(self._actions)

    def post(self, action: Callable[[], None]) -> None:
        """Appends an action. Safe from any thread."""
        self._actions.append(action)
        self._awake.set()

    def wake(self) -> None:
        """Ends `wait`. Safe from any thread."""
        self._awake.set()

    def run(self) -> None:
        """Runs the current actions, up to a limit. For the owner thread."""
        for _ in range(min(len(self._actions), _MAX_ACTIONS)):
            self._actions.popleft()()

    def wait(self, seconds: float) -> None:
        """Waits for an action or `wake`, also one since the last wait. For the owner thread."""
        self._awake.wait(seconds)
        self._awake.clear()


class OwnerThread:
    """Thread that runs the actions of an inbox and, between them, steps of its own.

    A step returns the seconds until the next one is due; 0 for at once. `on_end` gets the error that ended the thread.
    """

    def __init__(
        self, inbox: Inbox, step: Callable[[], float], *, name: str, on_end: Callable[[BaseException | None], None]
    ) -> None:
        self._inbox = inbox
        self._step = step
        self._on_end = on_end
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Ends the thread after the current step; returns whether it has ended in time."""
        self._is_stopping = True
        self._inbox.wake()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            while not self._is_stopping:
                self._inbox.run()
                delay = self._step()
                if delay and not self._inbox and not self._is_stopping:
                    self._inbox.wait(delay)
        except BaseException as raised:
            logger.exception("Thread failed", extra={"owner": self._thread.name})
            error = raised
        self._on_end(error)


async def on_owner_thread(inbox: Inbox, function: Callable[[], Result]) -> Result:
    """Runs a function on the owner thread, after everything posted before; returns its result or raises its error.

    The function is skipped if its caller has been cancelled meanwhile.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()

    def run() -> None:
        if answer.done():
            return
        try:
            result = function()
        except BaseException as error:
            loop.call_soon_threadsafe(_fail, answer, error)
            if not isinstance(error, Exception):
                raise
        else:
            loop.call_soon_threadsafe(_succeed, answer, result)

    inbox.post(run)
    return await answer


def _succeed(answer: asyncio.Future[Result], result: Result) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Result], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
