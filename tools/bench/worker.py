"""Runs each task in a process of its own, made from one that has the cluster ready: `python -m tools.bench.worker`.

A fresh process has an engine and memory of its own and nothing warm from others, so the order of forms does not matter
and its growth is the form's. Making the cluster anew for each would take longer than what is measured: so the worker
makes it, and forks. It has no threads, as it runs no wasm itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any, Final, Self

from tools.bench.guests import Unavailable
from tools.bench.policies.clusters import Cluster

if TYPE_CHECKING:
    from types import TracebackType

    from tools.bench.tasks import Figures

_LONGEST_SECONDS: Final = 600


class Worker:
    """The worker's process, from the other side."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, task: str, policy: str, form: str, nodes: int) -> Figures:
        """What the task found; Unavailable, with the reason, if it found nothing."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the worker is not running")
        process.stdin.write(json.dumps([task, policy, form, nodes]) + "\n")
        process.stdin.flush()
        told = json.loads(process.stdout.readline() or '{"error": "the worker ended"}')
        if "error" in told:
            raise Unavailable(told["error"])
        figures: Figures = told["figures"]
        return figures

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that all that it started ends with it
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.communicate()
            self._process = None


def serve(asked: IO[str], answers: IO[str]) -> None:
    """Until there is nothing more to read."""
    from tools.bench import tasks  # noqa: F401 - so that no child has to import it

    cluster = Cluster(0)
    for line in asked:
        task, policy, form, nodes = json.loads(line)
        if cluster.size != nodes:
            cluster = Cluster(nodes)
            cluster.table()  # all that is kept is made now, and not in every child
        answers.write(json.dumps(_in_a_child(task, policy, form, cluster)) + "\n")
        answers.flush()


def _in_a_child(task: str, policy: str, form: str, cluster: Cluster) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(_LONGEST_SECONDS)
        with os.fdopen(writing, "w") as pipe:
            json.dump(_done(task, policy, form, cluster), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return {"error": f"it took more than {_LONGEST_SECONDS} s"}
    found: dict[str, Any] = json.loads(told) if told else {"error": f"its process ended with status {status}"}
    return found


def _done(task: str, policy: str, form: str, cluster: Cluster) -> dict[str, Any]:
    from tools.bench.tasks import TASKS

    try:
        return {"figures": TASKS[task](policy, form, cluster)}
    except Unavailable as error:
        return {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - told to who asked, and that form is left out
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    # What tasks print must not get between the answers.
    protocol = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, protocol)
