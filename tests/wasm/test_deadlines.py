"""Time limits of guest calls: the ticker that advances an engine's epoch, and the limits in CPU time."""

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest
import wasmtime

from kubewasp.wasm import deadlines
from kubewasp.wasm.deadlines import WALL_FACTOR, CallDeadline, KernelTimer, ThreadTimer, Ticker, TimeLimit
from kubewasp.wasm.ffi import AdapterCall

# ---------------------------------------------------------------- ticker


def interruptible() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.epoch_interruption = True
    return wasmtime.Engine(config)


@pytest.mark.parametrize(("seconds", "ticks"), [(0.001, 5), (0.005, 5), (0.05, 14), (1, 204)])
def test_a_limit_is_never_shorter_than_it_says(seconds: float, ticks: int) -> None:
    assert Ticker(interruptible()).ticks(seconds) == ticks


@pytest.mark.parametrize(("seconds", "ticks"), [(0.0, 1), (0.005, 1), (0.0062, 1), (0.015, 3), (0.1, 4), (3600, 4)])
def test_a_sleep_that_took_longer_counts_for_more(seconds: float, ticks: int) -> None:
    assert ThreadTimer(interruptible()).due(seconds) == ticks


LOOP = '(module (func (export "run") (param i32) (loop $forever (br $forever))))'


def looping(engine: wasmtime.Engine) -> tuple[wasmtime.Store, wasmtime.Func]:
    store = wasmtime.Store(engine)
    return store, wasmtime.Instance(store, wasmtime.Module(engine, LOOP), []).exports(store)["run"]  # type: ignore[return-value]


@pytest.mark.parametrize("kind", [KernelTimer, ThreadTimer])
def test_a_call_that_never_ends_is_ended(kind: type[KernelTimer | ThreadTimer]) -> None:
    engine = interruptible()
    ticker = Ticker(engine, kind(engine))
    store, run = looping(engine)
    for _ in range(2):
        store.set_epoch_deadline(ticker.ticks(0.01))
        with ticker.running(), pytest.raises(wasmtime.Trap) as caught:
            run(store, 1)
        assert caught.value.trap_code is wasmtime.TrapCode.INTERRUPT


def test_a_call_that_keeps_pythons_lock_is_ended_too() -> None:
    engine = interruptible()
    ticker = Ticker(engine)
    assert ticker.needs_no_lock
    store, run = looping(engine)
    call = AdapterCall(store, run, 1)
    call.keep_lock(True)
    store.set_epoch_deadline(ticker.ticks(0.05))
    began = time.monotonic()
    with ticker.running(), pytest.raises(wasmtime.Trap) as caught:
        call(1)
    assert caught.value.trap_code is wasmtime.TrapCode.INTERRUPT
    assert time.monotonic() - began >= 0.05


def test_the_kernels_timer_runs_only_while_there_are_calls() -> None:
    """The epoch stands still meanwhile: the deadline is as far away after the sleep as before it."""
    engine = interruptible()
    ticker = Ticker(engine, KernelTimer(engine))
    store, run = looping(engine)
    with ticker.running():
        pass
    store.set_epoch_deadline(ticker.ticks(0.05))
    time.sleep(0.2)
    began = time.monotonic()
    with ticker.running(), ticker.running(), pytest.raises(wasmtime.Trap):
        run(store, 1)
    assert time.monotonic() - began >= 0.05


def test_a_process_that_was_forked_has_a_timer_of_its_own() -> None:
    code = """if True:
        import os, wasmtime
        from kubewasp.wasm.deadlines import Ticker
        from tests.wasm.test_deadlines import interruptible, looping
        engine = interruptible()
        ticker = Ticker(engine)
        with ticker.running():
            pass
        child = os.fork()
        store, run = looping(engine)
        store.set_epoch_deadline(ticker.ticks(0.05))
        try:
            with ticker.running():
                run(store, 1)
        except wasmtime.Trap:
            if child:
                raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            os._exit(0)
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 0


def test_a_thread_that_ticks_is_made_when_it_is_needed() -> None:
    timer = ThreadTimer(interruptible())
    assert timer._thread is None
    timer.start()
    first = timer._thread
    assert first is not None
    assert first.daemon
    timer.stop()
    timer.start()
    assert timer._thread is first
    timer.stop()


def test_a_thread_that_ticks_rests_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    resting = threading.Event()
    timer = ThreadTimer(interruptible(), period=0.0001)
    monkeypatch.setattr(timer._busy, "clear", lambda: (threading.Event.clear(timer._busy), resting.set()))
    timer.start()
    timer.stop()
    assert resting.wait(10)
    assert not timer._busy.is_set()
    timer.start()
    assert timer._busy.is_set()
    timer.stop()


# ---------------------------------------------------------------- limits in CPU time


class Readings:
    """A clock with given readings; the last one stays."""

    def __init__(self, *readings: float) -> None:
        self.looks = 0
        self._readings: Iterator[float] = chain(readings, repeat(readings[-1]))

    def __call__(self) -> float:
        self.looks += 1
        return next(self._readings)


def ended(seconds: float, *, cpu_time: Callable[[], float], wall_time: Callable[[], float]) -> CallDeadline:
    """The deadline of a call that loops until it is ended."""
    engine = interruptible()
    store, run = looping(engine)
    deadline = CallDeadline(store, cpu_time=cpu_time, wall_time=wall_time)
    deadline.arm(seconds)
    with Ticker(engine).running(), pytest.raises(wasmtime.WasmtimeError):
        run(store, 1)
    return deadline


def test_a_guest_without_cpu_time_is_not_ended_by_its_limit() -> None:
    """On a busy machine, wall time passes and the guest does not run: here up to nine times its limit."""
    cpu, wall = Readings(0, 0.001, 0.002, 0.003, 0.009, 0.01), Readings(0, 0.03, 0.05, 0.07, 0.09)
    assert ended(0.01, cpu_time=cpu, wall_time=wall).is_over
    assert cpu.looks == 6


def test_a_guest_without_cpu_time_ends_at_ten_times_its_limit_in_wall_time() -> None:
    cpu, wall = Readings(0), Readings(0, 0.05, 0.09, WALL_FACTOR * 0.01)
    assert ended(0.01, cpu_time=cpu, wall_time=wall).is_over
    assert wall.looks == 4


def test_a_guest_that_computes_ends_at_its_limit() -> None:
    began = time.thread_time()
    assert ended(0.1, cpu_time=deadlines._cpu_time, wall_time=lambda: 0.0).is_over
    assert time.thread_time() - began >= 0.1


def test_a_call_that_keeps_pythons_lock_ends_at_its_limit() -> None:
    engine = interruptible()
    store, run = looping(engine)
    deadline, call = CallDeadline(store), AdapterCall(store, run, 1)
    call.keep_lock(True)
    deadline.arm(0.05)
    with Ticker(engine, KernelTimer(engine)).running(), pytest.raises(wasmtime.WasmtimeError):
        call(1)
    assert deadline.is_over


def test_every_call_has_its_whole_time() -> None:
    engine = interruptible()
    store, run = looping(engine)
    deadline = CallDeadline(store, wall_time=lambda: 0.0)  # however busy the machine is
    for _ in range(2):
        began = time.thread_time()
        deadline.arm(0.05)
        assert not deadline.is_over
        with Ticker(engine).running(), pytest.raises(wasmtime.WasmtimeError):
            run(store, 1)
        assert deadline.is_over
        assert time.thread_time() - began >= 0.05


def test_no_clock_is_read_for_a_short_call() -> None:
    engine, clock = interruptible(), Readings(0)
    store = wasmtime.Store(engine)
    module = wasmtime.Module(engine, '(module (func (export "run")))')
    run = wasmtime.Instance(store, module, []).exports(store)["run"]
    deadline = CallDeadline(store, cpu_time=clock, wall_time=clock)
    deadline.arm(0.01)
    run(store)  # type: ignore[operator]
    assert clock.looks == 0


def test_ctrl_c_ends_the_call_and_is_kept() -> None:
    def interrupted() -> float:
        raise KeyboardInterrupt

    deadline = ended(10, cpu_time=interrupted, wall_time=time.monotonic)
    assert isinstance(deadline.interrupt, KeyboardInterrupt)
    assert not deadline.is_over


def test_sleep_is_limited_as_cpu_time_is(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    real_sleep, caller = time.sleep, threading.get_ident()

    def sleep(seconds: float) -> None:  # the epochs' thread of another test sleeps too
        if threading.get_ident() == caller:
            slept.append(seconds)
        else:
            real_sleep(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    deadline = CallDeadline(wasmtime.Store(interruptible()))
    deadline.arm(1.0)
    deadline.sleep(0.25)
    deadline.sleep(0.75)
    with pytest.raises(TimeLimit):
        deadline.sleep(0.5)
    deadline.arm(1.0)
    with pytest.raises(TimeLimit):
        deadline.sleep(3600)
    assert slept == [0.25, 0.75, 0.0, 1.0]


ENDS_WHILE_TIMERS_RUN = """
import wasmtime
from kubewasp.wasm.deadlines import Ticker

tickers = []
for _ in range(50):
    config = wasmtime.Config()
    config.epoch_interruption = True
    tickers.append(Ticker(wasmtime.Engine(config), period=5e-5))
    tickers[-1].begin()
"""


def test_a_process_may_end_while_timers_run() -> None:
    for _ in range(5):
        assert subprocess.run([sys.executable, "-c", ENDS_WHILE_TIMERS_RUN], check=False).returncode == 0


def test_a_deadline_does_not_keep_its_store() -> None:
    gc.disable()
    try:
        store = wasmtime.Store(interruptible())
        deadline, kept = CallDeadline(store), weakref.ref(store)
        del store, deadline
        assert kept() is None
    finally:
        gc.enable()
