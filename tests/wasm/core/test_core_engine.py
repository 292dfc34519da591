import subprocess
import sys
import threading
import time

import pytest
import wasmtime

from kubewasp.wasm.component.component_engine import component_engine
from kubewasp.wasm.core.core_engine import core_engine, strict_engine
from kubewasp.wasm.deadlines import KernelTimer, ThreadTimer, Ticker
from kubewasp.wasm.ffi import AdapterCall
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import MIB, Limits
from tests import samples
from tests.guests.build import go_guest, wat


def test_an_engine_is_made_once_for_each_stack_limit() -> None:
    assert core_engine(MIB) is core_engine(MIB)
    assert core_engine(MIB).settings == "classic stack=1048576"


def test_fuel_is_counted_in_engines_of_their_own() -> None:
    for engine in (core_engine, component_engine):
        assert not engine(MIB).fueled
        assert engine(MIB, fueled=True).fueled
        assert engine(MIB) is engine(MIB, fueled=False) is not engine(MIB, fueled=True)
        assert engine(MIB, fueled=True).settings == f"{engine(MIB).settings} fuel"


def test_a_guest_burns_fuel_only_where_it_is_counted() -> None:
    wasm = wat("filter").read_bytes()
    counting, usual = (Guest(load_guest_module(wasm, Limits(), fueled=fueled)) for fueled in (True, False))
    burnt = []
    for guest in (counting, usual):
        with guest.cycle(samples.pod("p"), [samples.node("n")]) as cycle:
            before = cycle.runner.fuel_burnt
            cycle.filter()
            burnt.append(cycle.runner.fuel_burnt - before)
    assert burnt[0] > 0
    assert burnt[1] == 0


def test_where_fuel_is_counted_a_guest_does_the_same_every_time() -> None:
    """Go takes a seed for its maps when it starts, and looks at the clock."""
    program = load_guest_module(go_guest("nodenumber").read_bytes(), Limits(), fueled=True)
    burnt = set()
    for _ in range(3):
        with Guest(program).cycle(samples.pod("p"), [samples.node("n")]) as cycle:
            burnt.add(cycle.runner.fuel_burnt)
    assert len(burnt) == 1


@pytest.mark.parametrize(
    "text",
    [
        "(module (memory 1 1 shared))",
        "(module (memory 1) (memory 1))",
        "(module (memory i64 1))",
        "(module (type (struct)))",
        "(module (tag (param i32)))",
        "(module (func (param (ref func))))",
        "(module (func (result i64 i64) (i64.add128 (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0))))",
    ],
)
def test_guests_are_validated_without_what_they_do_not_need(text: str) -> None:
    with pytest.raises(wasmtime.WasmtimeError):
        wasmtime.Module.validate(strict_engine(), bytes(wasmtime.wat2wasm(text)))


@pytest.mark.parametrize(
    "text",
    [
        "(module (func (result i32) (i32.extend8_s (i32.const 0))))",
        "(module (func (result i32 i32) (i32.const 0) (i32.const 0)))",
        "(module (memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))))",
        "(module (func (result v128) (v128.const i64x2 0 0)))",
        "(module (table 1 externref))",
        "(module (func (result i32) (return_call 0)))",
    ],
)
def test_guests_may_use_what_compilers_use(text: str) -> None:
    wasmtime.Module.validate(strict_engine(), bytes(wasmtime.wat2wasm(text)))


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
    """An epoch that stands still ends nobody: the deadline is as far away after the sleep as before it."""
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
        from tests.wasm.core.test_core_engine import interruptible, looping
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
