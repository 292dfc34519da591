"""Exceptions of the host around a hook: failures of that hook, never more."""

from typing import Any

import pytest
from wasmtime import WasmtimeError

from kubewasp.errors import KubewaspError
from kubewasp.wasm.core.core_inputs import CoreInputs
from kubewasp.wasm.core.core_instance import CoreInstance
from kubewasp.wasm.core.core_pool import CorePool
from kubewasp.wasm.errors import GuestLoadError, HeapFullError
from kubewasp.wasm.guest import Guest
from tests import samples
from tests.guests.build import wat


class Observer:
    def __init__(self) -> None:
        self.failures: list[tuple[str, str]] = []

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        if failure:
            self.failures.append((hook, failure))

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        self.failures.append((hook, kind))


def fail_with(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def guest(**settings: Any) -> tuple[Guest, Observer]:
    observer = Observer()
    return Guest.load(wat("filter"), name="policy", observer=observer, **settings), observer


@pytest.mark.parametrize(
    "error",
    [
        WasmtimeError("mmap failed to reserve 0x105000000 bytes\nCannot allocate memory"),
        MemoryError(),
        OSError(11, "cannot create the timer for time limits of guests"),
        GuestLoadError("wasm: _start error: no"),
    ],
    ids=["memory maps", "memory", "timers", "start function"],
)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_an_instance_that_cannot_be_made_fails_the_hook(
    error: Exception, policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of pods that wait on Permit may use up the process's memory maps."""
    loaded, observer = guest(failure_policy=policy)
    with monkeypatch.context() as patch:
        patch.setattr(CorePool, "acquire", fail_with(error))
        with loaded.cycle(samples.pod(), samples.nodes(2)) as cycle:
            verdicts = cycle.filter()
            assert verdicts.codes.tolist() == ([1, 1] if policy == "Fail" else [0, 0])
            assert ("start error" in verdicts.reason(0)) == (policy == "Fail")
    assert observer.failures == [("start", "start")]
    with loaded.cycle(samples.pod(), samples.nodes(2)) as cycle:
        assert not cycle.failed, "the next pod"


def test_nodes_that_do_not_fit_fail_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, observer = guest()
    with monkeypatch.context() as patch:
        patch.setattr(CoreInputs, "take_pod", fail_with(HeapFullError("the nodes do not fit")))
        with loaded.cycle(samples.pod(), samples.nodes(2)) as cycle:
            assert "HeapFullError: the nodes do not fit" in cycle.filter().reason(0)
    assert (observer.failures, loaded.stats.broken) == ([("start", "start")], 1)


def test_an_invalid_pod_is_the_callers_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, _ = guest()
    monkeypatch.setattr(CoreInputs, "take_pod", fail_with(KubewaspError("no such field")))
    with pytest.raises(KubewaspError, match="no such field"):
        loaded.cycle(samples.pod(), samples.nodes(2))
    assert loaded.stats.broken == 1, "the instance is given back"


@pytest.mark.parametrize("method", ["call", "call_rows"])
def test_an_exception_in_a_call_fails_the_hook(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, observer = guest()
    monkeypatch.setattr(CoreInstance, method, fail_with(ZeroDivisionError("a bug")))
    with loaded.cycle(samples.pod(), samples.nodes(2)) as cycle:
        if method == "call":
            outcome, status = cycle.hooks.call("filter", "node-1")
            assert (status.code, outcome.failure is not None) == (1, True)
        else:
            assert cycle.filter().codes.tolist() == [1, 1]
        assert cycle.hooks.failure is not None
        assert cycle.hooks.failure.text == 'wasm: filter error: ZeroDivisionError: a bug (plugin "policy")'
    assert observer.failures == [("filter", "host")]
    assert loaded.stats.broken == 1


def test_a_guest_that_cannot_be_started_is_a_load_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoreInstance, "__init__", fail_with(WasmtimeError("mmap failed")))
    with pytest.raises(GuestLoadError, match=r'wasm: start error: WasmtimeError: mmap failed \(plugin "policy"\)'):
        guest()
