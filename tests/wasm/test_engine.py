import threading

import pytest
import wasmtime

from kubewasp.wasm.component_engine import component_engine
from kubewasp.wasm.engine import classic_engine, strict_engine
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import MIB, Limits
from kubewasp.wasm.program import load_program
from kubewasp.wasm.settings import Ticker
from tests import samples
from tests.guests.build import go_guest, wat


def test_an_engine_is_made_once_for_each_stack_limit() -> None:
    assert classic_engine(MIB) is classic_engine(MIB)
    assert classic_engine(MIB).settings == "classic stack=1048576"


def test_fuel_is_counted_in_engines_of_their_own() -> None:
    for engine in (classic_engine, component_engine):
        assert not engine(MIB).fueled
        assert engine(MIB, fueled=True).fueled
        assert engine(MIB) is engine(MIB, fueled=False) is not engine(MIB, fueled=True)
        assert engine(MIB, fueled=True).settings == f"{engine(MIB).settings} fuel"


def test_a_guest_burns_fuel_only_where_it_is_counted() -> None:
    wasm = wat("filter").read_bytes()
    counting, usual = (Guest(load_program(wasm, Limits(), fueled=fueled)) for fueled in (True, False))
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
    program = load_program(go_guest("nodenumber").read_bytes(), Limits(), fueled=True)
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


@pytest.fixture
def ticker() -> Ticker:
    config = wasmtime.Config()
    config.epoch_interruption = True
    return Ticker(wasmtime.Engine(config))


@pytest.mark.parametrize(("seconds", "ticks"), [(0.001, 5), (0.005, 5), (0.05, 14), (1, 204)])
def test_a_limit_is_never_shorter_than_it_says(seconds: float, ticks: int, ticker: Ticker) -> None:
    assert ticker.ticks(seconds) == ticks


@pytest.mark.parametrize(("seconds", "ticks"), [(0.0, 1), (0.005, 1), (0.0062, 1), (0.015, 3), (0.1, 4), (3600, 4)])
def test_a_sleep_that_took_longer_counts_for_more(seconds: float, ticks: int, ticker: Ticker) -> None:
    assert ticker.due(seconds) == ticks


LOOP = '(module (func (export "run") (loop $forever (br $forever))))'


def test_a_call_that_never_ends_is_ended(ticker: Ticker) -> None:
    store = wasmtime.Store(ticker._engine)
    run = wasmtime.Instance(store, wasmtime.Module(ticker._engine, LOOP), []).exports(store)["run"]
    for _ in range(2):
        store.set_epoch_deadline(ticker.ticks(0.01))
        with ticker.running(), pytest.raises(wasmtime.Trap) as caught:
            run(store)  # type: ignore[operator]
        assert caught.value.trap_code is wasmtime.TrapCode.INTERRUPT


def test_a_ticker_without_calls_has_no_thread_and_a_busy_one_has_one(ticker: Ticker) -> None:
    assert ticker._thread is None
    with ticker.running(), ticker.running():
        first = ticker._thread
        assert first is not None
        assert first.daemon
    with ticker.running():
        assert ticker._thread is first


def test_a_ticker_rests_when_there_are_no_calls(ticker: Ticker, monkeypatch: pytest.MonkeyPatch) -> None:
    resting = threading.Event()
    monkeypatch.setattr(ticker, "PERIOD", 0.0001)
    monkeypatch.setattr(ticker._busy, "clear", lambda: (threading.Event.clear(ticker._busy), resting.set()))
    with ticker.running():
        pass
    assert resting.wait(10)
    assert not ticker._busy.is_set()
    with ticker.running():
        assert ticker._busy.is_set()
