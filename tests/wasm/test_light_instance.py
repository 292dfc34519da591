import ctypes

import pytest
from wasmtime import Engine, Linker, Module, Trap, WasmtimeError

from kubewasp.wasm.light_instance import InstanceTemplate, LightInstance

PAGE = 65536
_TEXT = """(module
  (memory (export "memory") 1 10)
  (data (i32.const 3) "abc")
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "sum") (param i32 i32) (result i64)
    (i64.add (i64.extend_i32_u (local.get 0)) (i64.extend_i32_u (local.get 1))))
  (func (export "trap") unreachable))"""


def template(text: str = _TEXT, memory: int = 4 * PAGE) -> InstanceTemplate:
    engine = Engine()
    return InstanceTemplate(engine, Linker(engine).instantiate_pre(Module(engine, text)), (memory, 100, 1, 1, 1))


@pytest.fixture(params=[True, False])
def instance(request: pytest.FixtureRequest) -> LightInstance:
    made = LightInstance(template(), keeps_lock=request.param)
    made.instantiate()
    return made


def test_call_with_parameters_and_result(instance: LightInstance) -> None:
    assert instance.call(instance.exported(b"sum"), 2**32 - 1, 5) == 2**32 + 4


def test_trap_is_raised_and_later_calls_are_not_affected(instance: LightInstance) -> None:
    with pytest.raises(Trap, match="unreachable"):
        instance.call(instance.exported(b"trap"))
    assert instance.call(instance.exported(b"sum"), 1, 2) == 3


def test_memory_is_found_within_its_present_size_only(instance: LightInstance) -> None:
    assert ctypes.string_at(instance.place(3, 3), 3) == b"abc"
    instance.place(0, PAGE)
    for address, length in ((PAGE, 1), (PAGE - 1, 2), (2**32 - 1, 2**32 - 1)):
        with pytest.raises(IndexError, match=rf"outside of the guest's memory of {PAGE} bytes"):
            instance.place(address, length)
    grow = instance.exported(b"grow")
    assert instance.call(grow, 2) & 0xFFFFFFFF == 1
    instance.place(3 * PAGE - 1, 1)
    assert ctypes.string_at(instance.place(3, 3), 3) == b"abc"
    assert instance.memory_size == 3 * PAGE


def test_memory_limit_holds(instance: LightInstance) -> None:
    grow = instance.exported(b"grow")
    assert instance.call(grow, 4) & 0xFFFFFFFF == 2**32 - 1
    assert instance.call(grow, 3) & 0xFFFFFFFF == 1


def test_memory_over_the_limit_is_refused() -> None:
    instance = LightInstance(template(memory=PAGE - 1), keeps_lock=True)
    with pytest.raises(WasmtimeError, match="memory"):
        instance.instantiate()


def test_there_is_no_memory_before_the_instance() -> None:
    instance = LightInstance(template(), keeps_lock=True)
    assert not instance.has_memory
    assert instance.memory_size == 0
    with pytest.raises(IndexError, match="no memory yet"):
        instance.place(0, 1)


def test_unknown_export_is_an_error(instance: LightInstance) -> None:
    with pytest.raises(KeyError):
        instance.exported(b"nothing")


def test_exports_in_use_are_bounded(instance: LightInstance) -> None:
    for _ in range(7):  # and the memory
        instance.exported(b"sum")
    with pytest.raises(RuntimeError, match="more than 8 exports"):
        instance.exported(b"sum")


def test_closing_twice_is_no_error(instance: LightInstance) -> None:
    instance.close()
    instance.close()
