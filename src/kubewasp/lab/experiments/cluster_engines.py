"""Engines on existing clusters: Dask and Ray, by address. Neither is imported before it is asked for.

Inputs and candidates are sent once each, with all their files in them: workers need kubewasp, and no file.
"""

from __future__ import annotations

import importlib
import pickle
from typing import TYPE_CHECKING, Any, Final, Self

from kubewasp import __version__
from kubewasp.lab.experiments.experiment_pool import Done, Failed
from kubewasp.lab.experiments.remote_run import EngineError, remote_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kubewasp.lab.experiments.experiment import LabInput
    from kubewasp.lab.experiments.experiment_pool import Figures, PlannedRun
    from kubewasp.lab.experiments.experiment_worker import Reply

_WINDOW: Final = 500  # experiments that are submitted at once
_CONNECT_SECONDS: Final = 30


class _Shared:
    """Inputs and candidates in the memory of a cluster, each put there at its first use."""

    def __init__(self, inputs: Mapping[str, LabInput], put: Callable[[bytes], Any]) -> None:
        self._inputs = inputs
        self._put = put
        self._given: dict[str, Any] = {}
        self._candidates: dict[int, tuple[Any, Any]] = {}

    def given(self, name: str) -> Any:
        if name not in self._given:
            self._given[name] = self._put(pickle.dumps(self._inputs[name]))
        return self._given[name]

    def candidate(self, planned: PlannedRun) -> Any:
        key = id(planned.candidate)
        if key not in self._candidates:  # the candidate is kept, so the id stays its own
            self._candidates[key] = planned.candidate, self._put(pickle.dumps(planned.candidate))
        return self._candidates[key][1]


class DaskEngine:
    """A Dask cluster, by the address of its scheduler."""

    def __init__(self, address: str, inputs: Mapping[str, LabInput]) -> None:
        self._distributed = _module("distributed", "dask")
        self._address = address
        self._inputs = inputs
        self._client: Any = None

    def __enter__(self) -> Self:
        try:
            self._client = self._distributed.Client(self._address, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            raise EngineError(f"no Dask scheduler at {self._address}: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()  # tasks without a client are cancelled

    def run(self, runs: Iterable[PlannedRun], /) -> Iterator[Done[Figures] | Failed]:
        client = self._client
        shared = _Shared(self._inputs, lambda content: client.scatter([content], hash=True)[0])
        completed = self._distributed.as_completed([])
        keys: dict[str, str] = {}
        waiting = iter(runs)
        while True:
            while len(keys) < _WINDOW and (planned := next(waiting, None)) is not None:
                given, candidate = shared.given(planned.given), shared.candidate(planned)
                future = client.submit(remote_run, __version__, given, candidate, planned.seed, pure=False)
                keys[future.key] = planned.key
                completed.add(future)
            if not keys:
                return
            future = next(completed)
            key = keys.pop(future.key)
            if future.status == "finished":
                yield _result(key, future.result())
            else:
                error = future.exception() if future.status == "error" else None
                yield Failed(key, _text(error) if error is not None else f"the run was {future.status}")


class RayEngine:
    """A Ray cluster, by its address: `auto`, `HOST:PORT` or `ray://HOST:PORT`."""

    def __init__(self, address: str, inputs: Mapping[str, LabInput]) -> None:
        self._ray = _module("ray", "ray")
        self._address = address
        self._inputs = inputs

    def __enter__(self) -> Self:
        try:
            self._ray.init(address=self._address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError, AssertionError) as error:
            raise EngineError(f"no Ray cluster at {self._address}: {_text(error)}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()  # ends the tasks of this job

    def run(self, runs: Iterable[PlannedRun], /) -> Iterator[Done[Figures] | Failed]:
        ray = self._ray
        shared = _Shared(self._inputs, ray.put)
        task = ray.remote(max_retries=0)(remote_run)
        keys: dict[Any, str] = {}
        waiting = iter(runs)
        while True:
            while len(keys) < _WINDOW and (planned := next(waiting, None)) is not None:
                given, candidate = shared.given(planned.given), shared.candidate(planned)
                keys[task.remote(__version__, given, candidate, planned.seed)] = planned.key
            if not keys:
                return
            [ready], _ = ray.wait(list(keys), num_returns=1)
            key = keys.pop(ready)
            try:
                reply = ray.get(ready)
            except ray.exceptions.RayError as error:
                yield Failed(key, _text(error))
            else:
                yield _result(key, reply)


def _result(key: str, reply: Reply) -> Done[Figures] | Failed:
    return Failed(key, reply.error, reply.trace) if reply.error else Done(key, reply.value)


def _text(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1].strip()}" if lines else type(error).__name__


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise EngineError(f"--{extra} requires {name}; run `pip install 'kubewasp[{extra}]'`") from None
