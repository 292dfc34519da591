import pytest
import wasmtime

from kubewasp.wasm import guard_timers, load_checks
from kubewasp.wasm.component.component_engine import component_engine
from kubewasp.wasm.core.core_engine import STRICT, core_engine
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import MIB, Limits
from tests import samples
from tests.guests.build import go_guest, wat


def test_an_engine_is_made_once_for_each_stack_limit() -> None:
    assert core_engine(MIB) is core_engine(MIB)
    assert str(core_engine(MIB, interruption="epoch").settings) == "classic stack=1048576"


@pytest.mark.skipif(not guard_timers.are_there(), reason="this system has no timers for load checks")
def test_load_checks_are_the_default_and_code_of_their_own() -> None:
    assert core_engine(MIB) is core_engine(MIB, interruption="load") is not core_engine(MIB, interruption="epoch")
    assert str(core_engine(MIB).settings) == f"classic stack=1048576 loads={load_checks.VERSION}"


def test_fuel_is_counted_with_epochs() -> None:
    assert core_engine(MIB, fueled=True) is core_engine(MIB, fueled=True, interruption="epoch")


def test_systems_without_timers_have_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_timers, "are_there", lambda: False)
    assert core_engine(MIB) is core_engine(MIB, interruption="epoch")


def test_fuel_is_counted_in_engines_of_their_own() -> None:
    for engine in (core_engine, component_engine):
        assert not engine(MIB).fueled
        assert engine(MIB, fueled=True).fueled
        assert engine(MIB) is engine(MIB, fueled=False) is not engine(MIB, fueled=True)
    assert str(component_engine(MIB, fueled=True).settings) == f"{component_engine(MIB).settings} fuel"
    assert str(core_engine(MIB, fueled=True).settings) == f"{core_engine(MIB, interruption='epoch').settings} fuel"


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
        wasmtime.Module.validate(STRICT.engine(), bytes(wasmtime.wat2wasm(text)))


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
    wasmtime.Module.validate(STRICT.engine(), bytes(wasmtime.wat2wasm(text)))
