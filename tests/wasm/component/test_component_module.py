"""Loading of components: compilation, cache, and checks against the world."""

from pathlib import Path

import pytest
from wasmtime import wat2wasm

from kubewasp.wasm.component import component_module
from kubewasp.wasm.component.component_module import load_component
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits
from tests.wasm.component.components import probe_program, probe_wasm

LIBRARY = """
  (core module $m
    (memory (export "memory") 1)
    (func (export "take") (param i32 i32) (result i32) i32.const 0)
    (func (export "none") (param i32) (result i32) i32.const 0)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0))
  (core instance $i (instantiate $m))
  (func $text (param "settings" string) (result string)
    (canon lift (core func $i "take") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
  (func $number (param "request" u32) (result u32) (canon lift (core func $i "none")))
"""


def load(text: str, **limits: int) -> None:
    load_component(bytes(wat2wasm(f"(component {text})")), Limits(**limits), use_cache=False)


def test_a_python_plugin_fits_the_world() -> None:
    program = probe_program()
    assert program.size == len(probe_wasm())
    assert all(name.startswith("wasi:") for name in program.imports)


def test_a_component_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    probe_program()
    monkeypatch.setattr(component_module, "_compiled", lambda *_: pytest.fail("compiled again"))
    assert load_component(probe_wasm(), Limits()).from_cache


def test_engines_with_other_settings_do_not_share_what_was_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path))
    wasm = bytes(wat2wasm("(component)"))
    for stack in (2**19, 2**20, 2**20):
        with pytest.raises(GuestLoadError, match="does not fit the world"):
            load_component(wasm, Limits(stack=stack))
    assert len(list(tmp_path.glob("*.cwasm"))) == 2


def test_missing_exports_are_named() -> None:
    with pytest.raises(GuestLoadError) as raised:
        load("")
    assert str(raised.value) == (
        "wasm: the component does not fit the world kubewasp:plugin/plugin@1.0.0: "
        "it does not export start: func(settings: string) -> string; "
        "it does not export call: func(request: string) -> string; build it with `kubewasp plugin build`"
    )


def test_exports_of_other_types_are_told() -> None:
    with pytest.raises(GuestLoadError) as raised:
        load(f'{LIBRARY} (export "start" (func $text)) (export "call" (func $number))')
    assert "start" not in str(raised.value)
    assert "it exports call as func(request: u32) -> u32, not as func(request: string) -> string" in str(raised.value)


def test_an_export_that_is_no_function_is_told() -> None:
    with pytest.raises(GuestLoadError, match="it exports call as instance, not as func"):
        load(f'{LIBRARY} (instance $n) (export "start" (func $text)) (export "call" (instance $n))')


@pytest.mark.parametrize("name", ["wasi:http/types@0.2.0", "wasi:io/poll@0.3.0", "acme:tools/log", "print"])
def test_imports_that_are_not_offered_are_named(name: str) -> None:
    kind = "(instance)" if ":" in name else "(func)"
    with pytest.raises(GuestLoadError) as raised:
        load(f'(import "{name}" {kind})')
    assert f"it imports {name}, which is not offered" in str(raised.value)


def test_what_is_no_component_inside_is_an_error() -> None:
    with pytest.raises(GuestLoadError, match="wasm: guest is not a valid component: "):
        load_component(b"\0asm\x0d\0\1\0" + b"\xff" * 20, Limits(), use_cache=False)


def test_a_component_over_the_size_limit_is_refused() -> None:
    with pytest.raises(GuestLoadError, match=r"guest has \d+ bytes, over the limit of 8"):
        load_guest_module(bytes(wat2wasm("(component (core module))")), Limits(guest_size=8))


@pytest.mark.parametrize(
    "text",
    [
        "(core module (memory i64 1))",
        "(core module (memory 1) (memory 1))",
        "(core module (memory 1 1 shared))",
        "(core module (type (struct)))",
        "(core module (tag))",
    ],
)
def test_features_that_python_does_not_need_are_off(text: str) -> None:
    with pytest.raises(GuestLoadError, match="not a valid component"):
        load(text)
