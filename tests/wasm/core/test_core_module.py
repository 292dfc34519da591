import hashlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.wasm.binary import leb128, sections
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits
from tests.guests import HOOKS
from tests.guests.build import c_guest, go_guest, wat, wat_text

UNKNOWN = "wasm: guest imports an unknown function: "


@pytest.fixture(scope="module", autouse=True)
def _scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Modules that are damaged on purpose are not kept for the next run."""
    core_engine(Limits().stack)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path_factory.mktemp("compiled")))
        yield


def load(wasm: bytes, **limits: int) -> CoreModule:
    return load_guest_module(wasm, Limits(**limits))  # type: ignore[arg-type]


def load_text(text: str) -> CoreModule:
    return load(wat_text(text).read_bytes())


def problem(wasm: bytes, **limits: int) -> str:
    with pytest.raises(GuestLoadError) as caught:
        load(wasm, **limits)
    return str(caught.value)


def hook(name: str, result: str = "(result i32)", body: str = "(i32.const 0)") -> str:
    return f'(func (export "{name}") {result} {body})'


# ---------------------------------------------------------------- what a program tells


def test_a_program_tells_what_the_guest_is() -> None:
    wasm = wat("echo").read_bytes()
    program = load(wasm)
    assert (program.digest, program.size) == (hashlib.sha256(wasm).hexdigest(), len(wasm))
    assert list(program.hooks) == [name for name in HOOKS if name not in ("enqueue", "unreserve", "permit", "postbind")]
    assert ("k8s.io/scheduler", "currentPod") in program.imports
    assert (program.memory_pages, program.memory_max_pages) == (1, None)
    assert program.start_functions == ()
    assert program.uses_images
    assert not program.uses_wasi


def test_a_go_guest_is_a_reactor_that_uses_wasi() -> None:
    program = load(go_guest("allhooks").read_bytes())
    assert tuple(program.hooks) == HOOKS
    assert program.start_functions == ("_initialize",)
    assert program.uses_wasi
    assert not program.uses_images
    assert "Go" in program.producers["language"][0]


def test_a_c_guest_needs_no_wasi() -> None:
    program = load(c_guest("labels").read_bytes())
    assert list(program.hooks) == ["filter", "score"]
    assert not program.uses_wasi


def test_prefilter_may_stand_alone() -> None:
    assert list(load(wat("only_prefilter").read_bytes()).hooks) == ["prefilter"]


@pytest.mark.parametrize("name", ["filter", "score", "reserve", "permit", "bind"])
def test_one_main_hook_is_enough(name: str) -> None:
    wide = name in ("score", "permit")
    text = hook(name, "(result i64)", "(i64.const 0)") if wide else hook(name)
    assert list(load_text(f'(module (memory (export "memory") 1) {text})').hooks) == [name]


def test_of_two_start_functions_the_commands_is_called() -> None:
    program = load_text(
        f'(module (memory (export "memory") 1) {hook("_start", "", "")} {hook("_initialize", "", "")} {hook("filter")})'
    )
    assert program.start_functions == ("_start",)


# ---------------------------------------------------------------- load errors, word for word


@pytest.mark.parametrize(
    ("guest", "text"),
    [
        ("no_memory", "wasm: guest doesn't export memory[memory]"),
        ("no_hook", "wasm: guest does not export any plugin functions"),
        ("only_prescore", "wasm: filter, score, reserve, permit or bind must be exported"),
        ("bad_signature", "wasm: guest exports the wrong signature for func[filter]. should be () -> (i32)"),
        ("bad_signature_params", "wasm: guest exports the wrong signature for func[filter]. should be () -> (i32)"),
        (
            "unknown_import",
            f'{UNKNOWN}module "env" function "foo"; '
            "there are k8s.io/api, k8s.io/scheduler, k8s.io/klog, kubewasp/v1 and wasi_snapshot_preview1",
        ),
        ("unknown_k8s_import", f'{UNKNOWN}module "k8s.io/api" function "pods"'),
        (
            "wrong_import_type",
            'wasm: guest imports module "k8s.io/scheduler" function "currentPod" as (i32) -> (i32). '
            "should be (i32, i32) -> (i32)",
        ),
        (
            "huge_memory",
            "wasm: guest starts with 4294967296 bytes of memory, over the limit of 268435456; "
            "raise limits.memory or build it with less",
        ),
    ],
)
def test_a_guest_that_breaks_the_contract_is_refused(guest: str, text: str) -> None:
    assert problem(wat(guest).read_bytes()) == text


@pytest.mark.parametrize(
    ("guest", "feature"), [("shared_memory", "threads"), ("multi_memory", "multiple memories"), ("uses_gc", "gc")]
)
def test_features_that_no_guest_needs_are_refused(guest: str, feature: str) -> None:
    text = problem(wat(guest).read_bytes())
    assert text.startswith("wasm: guest is not a valid module: ")
    assert feature in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "results", "signature"),
    [
        ("enqueue", "(result i32)", "() -> ()"),
        ("prefilter", "(result i64)", "() -> (i32)"),
        ("filter", "(result i32 i32)", "() -> (i32)"),
        ("filter", "", "() -> (i32)"),
        ("postfilter", "(result i32)", "() -> (i64)"),
        ("score", "(result i32)", "() -> (i64)"),
        ("score", "(param i64) (result i64)", "() -> (i64)"),
        ("permit", "(result i32)", "() -> (i64)"),
        ("unreserve", "(param i32)", "() -> ()"),
        ("postbind", "(result i32)", "() -> ()"),
        ("_start", "(result i32)", "() -> ()"),
        ("_initialize", "(param i32)", "() -> ()"),
    ],
)
def test_a_wrong_signature_is_told_with_the_right_one(name: str, results: str, signature: str) -> None:
    other = hook("bind")
    wasm = wat_text(f'(module (memory (export "memory") 1) {other} {hook(name, results, "unreachable")})')
    text = problem(wasm.read_bytes())
    assert text == f"wasm: guest exports the wrong signature for func[{name}]. should be {signature}"


def test_a_hook_that_is_no_function_is_a_wrong_signature() -> None:
    wasm = wat_text('(module (memory (export "memory") 1) (global (export "filter") i32 (i32.const 0)))')
    assert problem(wasm.read_bytes()) == (
        "wasm: guest exports the wrong signature for func[filter]. should be () -> (i32)"
    )


def test_a_memory_under_another_name_does_not_count() -> None:
    for text in ('(memory (export "mem") 1)', '(func (export "memory"))'):
        wasm = wat_text(f"(module {text} {hook('filter')})")
        assert problem(wasm.read_bytes()) == "wasm: guest doesn't export memory[memory]"


def test_a_start_section_of_a_wrong_type_is_refused() -> None:
    wasm = wat_text(f'(module (memory (export "memory") 1) {hook("filter")} (func (param i32)))').read_bytes()
    started = wasm[:8]
    for item in sections(wasm):
        started += bytes([item.number]) + leb128(len(item.content)) + item.content
        if item.number == 7:
            started += b"\x08\x01\x01"  # after the exports: start with function 1
    assert problem(started).endswith("should be () -> ()")


def test_only_functions_can_be_imported() -> None:
    wasm = wat_text(f'(module (import "env" "limit" (global i32)) (memory (export "memory") 1) {hook("filter")})')
    text = problem(wasm.read_bytes())
    assert text == 'wasm: guest imports something else than a function: module "env" name "limit"'


def test_a_module_is_not_taken_for_the_beginning_of_a_functions_name() -> None:
    wasm = wat_text(
        '(module (import "k8s.io/scheduler.result" "status_reason" (func (param i32 i32))) '
        f'(memory (export "memory") 1) {hook("filter")})'
    )
    text = problem(wasm.read_bytes())
    assert text.startswith(f'{UNKNOWN}module "k8s.io/scheduler.result" function "status_reason"; there are ')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (hook("filter", "(param v128) (result i32)"), "func[filter]. should be () -> (i32)"),
        (
            '(import "k8s.io/scheduler" "get_config" (func (param v128 i32) (result i32)))',
            'function "get_config" as (v128, i32) -> (i32). should be (i32, i32) -> (i32)',
        ),
    ],
)
def test_a_vector_in_a_signature_is_refused(text: str, expected: str) -> None:
    """The runtime's C interface aborts on such a type."""
    imported, own = (text, hook("bind")) if "import" in text else ("", text)
    wasm = wat_text(f'(module {imported} (memory (export "memory") 1) {own})')
    assert problem(wasm.read_bytes()).endswith(expected)


def test_a_guest_may_use_vectors_otherwise() -> None:
    program = load_text(
        f'(module (memory (export "memory") 1) {hook("filter")} (func (export "other") (param v128)) '
        '(global (export "vector") (mut v128) (v128.const i64x2 0 0)))'
    )
    assert list(program.hooks) == ["filter"]


def test_an_unknown_wasi_function_is_refused() -> None:
    wasm = wat_text(
        f'(module (import "wasi_snapshot_preview1" "fly" (func)) (memory (export "memory") 1) {hook("filter")})'
    )
    assert problem(wasm.read_bytes()) == f'{UNKNOWN}module "wasi_snapshot_preview1" function "fly"'


def test_a_memory_limit_may_be_raised_for_a_large_guest() -> None:
    wasm = wat_text(f'(module (memory (export "memory") 100) {hook("filter")})').read_bytes()
    assert "over the limit of 6553599" in problem(wasm, memory=6553599)
    assert load(wasm, memory=6553600).memory_pages == 100


# ---------------------------------------------------------------- what is no module at all


@pytest.mark.parametrize(
    ("wasm", "text"),
    [
        (b"", "wasm: this is not WebAssembly: the file is empty"),
        (b"#!/bin/sh", "wasm: this is not WebAssembly: the file does not start with \\0asm"),
        (b"\0asm\x01", "wasm: the file is truncated: it ends within its 8-byte header"),
        (b"\0asm\x01\0\0\0", "wasm: guest doesn't export memory[memory]"),
        (
            b"\0asm\x0d\0\x01\0",
            "wasm: the component does not fit the world kubewasp:plugin/plugin@1.0.0: it does not export start: "
            "func(settings: string) -> string; it does not export call: func(request: string) -> string; "
            "build it with `kubewasp plugin build`",
        ),
    ],
)
def test_what_is_no_module_is_refused(wasm: bytes, text: str) -> None:
    assert problem(wasm) == text


@given(st.data())
@settings(max_examples=60)
def test_a_guest_cut_anywhere_is_refused(data: st.DataObject) -> None:
    wasm = (wat("echo") if data.draw(st.booleans()) else c_guest("labels")).read_bytes()
    code = next(item for item in sections(wasm) if item.number == 10)
    end = code.offset + len(code.content)  # what follows are names and the like, and may be missing
    assert problem(wasm[: data.draw(st.integers(0, end))]).startswith("wasm: ")


@given(st.integers(8, 1_800_000))
@settings(max_examples=20)
def test_a_large_guest_cut_anywhere_is_refused_before_it_is_compiled(length: int) -> None:
    assert problem(go_guest("nodenumber").read_bytes()[:length]).startswith("wasm: ")


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_guest_is_refused_or_loads(data: st.DataObject) -> None:
    wasm = bytearray(wat("all_hooks").read_bytes())  # small: compiled in this process
    for _ in range(data.draw(st.integers(1, 3))):
        wasm[data.draw(st.integers(8, len(wasm) - 1))] = data.draw(st.integers(0, 255))
    try:
        load(bytes(wasm))
    except GuestLoadError as error:
        text = str(error)
    else:
        return
    assert text.startswith("wasm: ")


@given(st.binary(max_size=100))
def test_garbage_behind_the_header_is_refused(garbage: bytes) -> None:
    assert problem(b"\0asm\x01\0\0\0" + garbage).startswith("wasm: ")
