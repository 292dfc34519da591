"""Calls below wasmtime's public interface: an incompatible release fails here first."""

from typing import cast

import pytest
from wasmtime import Func, Instance, Module, Store, Trap, WasmtimeError

from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.ffi import PAGE, AdapterCall, ImportableMemory
from kubewasp.wasm.limits import MIB


def instance(text: str, *imports: ImportableMemory) -> tuple[Store, Instance]:
    engine = core_engine(MIB).engine
    store = Store(engine)
    store.set_epoch_deadline(2**40)
    return store, Instance(store, Module(engine, text), list(imports))  # type: ignore[arg-type]


READS = """
(module
  (import "host" "shared" (memory 1 65536 shared))
  (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0))))
"""


def test_what_python_writes_to_a_shared_memory_modules_read() -> None:
    memory = ImportableMemory(core_engine(MIB).engine)
    for _ in range(2):
        store, reader = instance(READS, memory)
        load = cast(Func, reader.exports(store)["load"])
        memory.view()[100] = 7
        assert load(store, 100) == 7


def test_a_shared_memory_grows_in_its_place() -> None:
    memory = ImportableMemory(core_engine(MIB).engine)
    store, reader = instance(READS, memory)
    before = memory.view()
    before[100] = 7
    memory.grow(10)
    after = memory.view()
    assert (len(before), len(after)) == (PAGE, 11 * PAGE)
    assert after.ctypes.data == before.ctypes.data
    after[10 * PAGE] = 8
    load = cast(Func, reader.exports(store)["load"])
    assert (load(store, 100), load(store, 10 * PAGE)) == (7, 8)


CALLED = """
(module
  (global $sum (export "sum") (mut i32) (i32.const 0))
  (func (export "add") (param i32 i32) (global.set $sum (i32.sub (local.get 0) (local.get 1))))
  (func (export "none") (global.set $sum (i32.const 42)))
  (func (export "trap") unreachable)
  (func (export "result") (result i32) (i32.const 0))
  (func (export "wide") (param i64)))
"""


def test_a_function_is_called_with_its_parameters_in_order() -> None:
    store, called = instance(CALLED)
    exports = called.exports(store)
    add = AdapterCall(store, cast(Func, exports["add"]), 2)
    for one, other in ((7, 3), (-1, 2**31 - 1), (0, 0)):
        add(one, other)
        assert exports["sum"].value(store) == (one - other + 2**31) % 2**32 - 2**31  # type: ignore[union-attr]
    AdapterCall(store, cast(Func, exports["none"]), 0)()
    assert exports["sum"].value(store) == 42  # type: ignore[union-attr]


def test_a_trap_is_raised() -> None:
    store, called = instance(CALLED)
    trap = AdapterCall(store, cast(Func, called.exports(store)["trap"]), 0)
    for _ in range(2):
        with pytest.raises((Trap, WasmtimeError), match="unreachable"):
            trap()


@pytest.mark.parametrize(("name", "parameters"), [("add", 1), ("add", 3), ("result", 0), ("wide", 1)])
def test_a_function_of_another_type_is_refused(name: str, parameters: int) -> None:
    """A call made in this way is not checked by the runtime."""
    store, called = instance(CALLED)
    with pytest.raises(TypeError, match="not an adapter function"):
        AdapterCall(store, cast(Func, called.exports(store)[name]), parameters)
