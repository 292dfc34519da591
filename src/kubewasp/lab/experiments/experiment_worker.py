"""Worker process of `experiment_pool`; started by it, and of no use alone.

It reads assignments from the connection whose descriptor is its argument, and sends their results. It ends when the
other side is gone, also in the middle of an experiment.
"""

from __future__ import annotations

import os
import pickle  # between processes of one program
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.lab.experiments.experiment import Candidate, LabInput


@dataclass(frozen=True, slots=True)
class Assignment:
    """An experiment for a worker. `content` is the pickled input the first time that a worker needs it."""

    given: str
    content: bytes | None
    candidate: Candidate
    seed: int


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of an assignment: a value, or an error with its stack trace if it is none of the user's."""

    value: Any = None
    error: str = ""
    trace: str = ""


def answered(action: Callable[[], Any]) -> Reply:
    """The value of a call, or its error."""
    try:
        return Reply(action())
    except KubewaspError as error:
        return Reply(error=str(error) or type(error).__name__)
    except OSError as error:
        text = error.strerror or str(error)
        return Reply(error=f"{error.filename}: {text}" if error.filename is not None else text)
    except Exception as error:  # noqa: BLE001 - one experiment must not end the others
        return Reply(error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())


class _Worker:
    def __init__(self, work: Callable[[LabInput, Candidate, int], Any]) -> None:
        self._work = work
        self._inputs: dict[str, LabInput] = {}

    def run(self, task: bytes) -> bytes:
        reply = answered(lambda: self._result(task))
        try:
            return pickle.dumps(reply)
        except Exception as error:  # noqa: BLE001 - whatever pickle raises
            return pickle.dumps(Reply(error=f"the result cannot be sent: {error}"))

    def _result(self, task: bytes) -> Any:
        given: Assignment = pickle.loads(task)  # noqa: S301
        if given.content is not None:
            self._inputs[given.given] = pickle.loads(given.content)  # noqa: S301
        return self._work(self._inputs[given.given], given.candidate, given.seed)


def _receive(connection: Connection, received: SimpleQueue[bytes]) -> None:
    while True:
        try:
            received.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)  # nobody waits for the result of a running experiment


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(int(sys.argv[1]))
    received: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, received), daemon=True).start()
    worker = _Worker(pickle.loads(received.get()))  # noqa: S301
    while True:
        connection.send_bytes(worker.run(received.get()))
