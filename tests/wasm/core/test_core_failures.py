import pytest
import wasmtime

from kubewasp.wasm.core.core_failures import Overrun, described
from kubewasp.wasm.deadlines import TimeLimit
from kubewasp.wasm.hook_failures import HookFailure, hook_failure
from kubewasp.wasm.limits import Limits


def told(error: Exception, *, callback_error: BaseException | None = None, output: str = "") -> HookFailure:
    return described(
        error,
        hook="filter",
        plugin="mine",
        callback_error=callback_error,
        timed_out=False,
        refused=0,
        output=output,
        memory=0,
        limits=Limits(call_timeout=0.25),
        setting="call_timeout",
        node="n-17",
    )


def trap(text: str) -> wasmtime.Trap:
    """The trap that the function `run` of a module ends with."""
    store = wasmtime.Store()
    run = wasmtime.Instance(store, wasmtime.Module(store.engine, text), []).exports(store)["run"]
    with pytest.raises(wasmtime.Trap) as caught:
        run(store)  # type: ignore[operator]
    return caught.value


def test_a_failure_says_which_hook_what_and_whose() -> None:
    assert hook_failure("score", "mine", "trap", "it broke").text == 'wasm: score error: it broke (plugin "mine")'


def test_what_the_guest_printed_comes_first() -> None:
    found = hook_failure(
        "filter", "mine", "trap", "it broke", output="panic!\n\0", trace="wasm stack trace:\n\tmain @ 0x1"
    )
    assert found.text == ('wasm: filter error: panic!\nit broke (plugin "mine")\nwasm stack trace:\n\tmain @ 0x1')
    assert found.cause == "it broke"


def test_output_is_cut() -> None:
    text = hook_failure("filter", "mine", "trap", "it broke", output="x" * 10_000).text
    assert "x" * 4096 + "…\n" in text
    assert len(text) < 4200


@pytest.mark.parametrize(
    ("callback_error", "kind", "cause"),
    [
        (TimeLimit(), "timeout", "time limit of 0.25 s exceeded on node n-17; the limit is limits.callTimeout"),
        (IndexError("result.node_names"), "trap", "result.node_names: buffer outside of the guest's memory"),
        (Overrun("result.node_names", 20, 10), "overrun", "result.node_names: 20 bytes are over the limit of 10"),
        (RuntimeError("the store is gone"), "host", "RuntimeError: the store is gone"),
    ],
)
def test_what_went_wrong_in_a_callback_is_the_cause(callback_error: Exception, kind: str, cause: str) -> None:
    found = told(trap('(module (func (export "run") unreachable))'), callback_error=callback_error)
    assert (found.kind, found.cause) == (kind, cause)


def test_a_trap_is_told_with_the_functions_it_happened_in() -> None:
    found = told(trap('(module $m (func $inner unreachable) (func (export "run") (call $inner)))'))
    assert found.kind == "trap"
    first, second, *frames = found.text.splitlines()
    assert first == 'wasm: filter error: wasm trap: wasm `unreachable` instruction executed (plugin "mine")'
    assert second == "wasm stack trace:"
    assert [frame.split(" @ ")[0] for frame in frames] == ["\tinner", "\tfunc[1]"]


def test_a_long_trace_is_cut() -> None:
    deep = """
    (module
      (func $down (param $n i32)
        (if (i32.eqz (local.get $n)) (then unreachable))
        (call $down (i32.sub (local.get $n) (i32.const 1))))
      (func (export "run") (call $down (i32.const 100))))
    """
    lines = told(trap(deep)).text.splitlines()
    assert len(lines) == 2 + 16 + 1
    assert lines[-1].startswith("\t… ")
    assert lines[-1].endswith(" more")


def test_a_stack_overflow_is_told_with_the_limit() -> None:
    found = told(trap('(module (func $run (export "run") (call $run)))'))
    assert (found.kind, found.cause) == ("overrun", "stack limit of 1048576 bytes exceeded")
    assert "0xffffffff" not in found.text
