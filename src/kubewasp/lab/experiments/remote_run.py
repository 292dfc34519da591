"""Experiment on another machine: what the workers of an engine call. They need the same version of kubewasp."""

from __future__ import annotations

import hashlib
import pickle
import threading
from typing import TYPE_CHECKING, Any, Final

from kubewasp import __version__
from kubewasp.errors import KubewaspError
from kubewasp.lab.experiments.experiment_pool import figures
from kubewasp.lab.experiments.experiment_worker import Reply, answered

if TYPE_CHECKING:
    from kubewasp.lab.experiments.experiment import LabInput

_MOST_INPUTS: Final = 4
_inputs: dict[bytes, LabInput] = {}
# An experiment is Python for the most part: two in one process would only share its lock.
_one_at_a_time: Final = threading.Lock()


def remote_run(version: str, given: bytes, candidate: bytes, seed: int) -> Reply:
    """The figures of an experiment. Input and candidate are pickled; a process keeps the inputs that it has read."""
    if version != __version__:
        return Reply(error=f"the worker has kubewasp {__version__}, not {version}")
    with _one_at_a_time:
        return answered(lambda: figures(_input(given), pickle.loads(candidate), seed))  # noqa: S301


def _input(content: bytes) -> LabInput:
    key = hashlib.sha256(content).digest()
    if key not in _inputs:
        while len(_inputs) >= _MOST_INPUTS:
            del _inputs[next(iter(_inputs))]
        found: Any = pickle.loads(content)  # noqa: S301 - of the process that started the sweep
        _inputs[key] = found
    return _inputs[key]


class EngineError(KubewaspError):
    """An engine that is not installed, or cannot be reached."""
