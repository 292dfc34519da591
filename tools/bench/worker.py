"""Worker process that forks a child for each task: `python -m tools.bench.worker`.

A child has its own engine and memory and no warm caches, so the order of forms does not matter and the growth of its
memory is the form's. The worker holds the cluster, because building it takes longer than most tasks. It runs no wasm
itself and has no threads.
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
from tools.testbed.process import importable

if TYPE_CHECKING:
    from types import TracebackType

    from tools.bench.tasks import Figures

_LONGEST_SECONDS: Final = 600


class Worker:
    """Client side of the worker process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, task: str, policy: str, form: str, nodes: int) -> Figures:
        """The figures of the task; Unavailable, with the reason, if there are none."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the worker is not running")
        process.stdin.write(json.dumps([task, policy, form, nodes]) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or '{"error": "the worker ended"}')
        if "error" in answer:
            raise Unavailable(answer["error"])
        figures: Figures = answer["figures"]
        return figures

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | importable(),
            text=True,
            start_new_session=True,  # its children end with it
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
    """Serves requests until the end of the input."""
    from tools.bench import tasks  # noqa: F401 - imported once, before the forks

    cluster = Cluster(0)
    for line in asked:
        task, policy, form, nodes = json.loads(line)
        if cluster.size != nodes:
            cluster = Cluster(nodes)
            cluster.table()  # fills the caches before the forks
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
        printed = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return {"error": f"timeout after {_LONGEST_SECONDS} s"}
    found: dict[str, Any] = json.loads(printed) if printed else {"error": f"its process ended with status {status}"}
    return found


def _done(task: str, policy: str, form: str, cluster: Cluster) -> dict[str, Any]:
    from tools.bench.tasks import TASKS

    try:
        return {"figures": TASKS[task](policy, form, cluster)}
    except Unavailable as error:
        return {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - reported to the client, which skips the form
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    # Output of tasks must not get between the answers.
    protocol = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, protocol)
