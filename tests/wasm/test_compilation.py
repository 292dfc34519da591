"""Compilation in a child process, with limits."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from wasmtime import Engine, Module, WasmtimeError, wat2wasm
from wasmtime.component import Component

from kubewasp.wasm import compilation
from kubewasp.wasm.compilation import IN_PROCESS, compile_and_keep, load_compiled
from kubewasp.wasm.component.component_engine import ComponentEngine
from kubewasp.wasm.core.core_engine import STRICT, core_engine
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import MIB, CompileLimits
from tests.wasm.hostile_wasm import nested_loops

ENGINE = core_engine(MIB, interruption="epoch")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def large(text: str = "") -> bytes:
    """A module above the size that is compiled in this process."""
    filler = "0" * (IN_PROCESS + 1)
    return bytes(wat2wasm(f'(module (memory (export "memory") 1) (data (i32.const 0) "{filler}") {text})'))


def compiled(wasm: bytes, *, limits: CompileLimits | None = None) -> Module:
    limits = limits or CompileLimits()
    return compile_and_keep(Module, ENGINE.engine, ENGINE.settings, wasm, limits=limits, strict=STRICT)


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("compiled in this process")


def test_a_large_module_is_compiled_in_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.wasm.compile_worker.compiled", refuse)
    wasm = large('(func (export "f"))')
    assert [item.name for item in compiled(wasm).exports] == ["memory", "f"]
    assert load_compiled(Module, ENGINE.engine, ENGINE.settings, wasm) is not None


def test_a_small_module_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", refuse)
    compiled(bytes(wat2wasm("(module)")))


@pytest.mark.parametrize("body", ["(func (result i32))", "(memory 1)"], ids=["type error", "feature that is off"])
def test_an_invalid_module_is_the_same_error_in_both_ways(body: str) -> None:
    wasm = bytes(wat2wasm(f"(module (memory 1) {body})"))
    padding = b"\0" + b"\xff\x7f" + b"\x01x" + bytes(16383 - 2)
    with pytest.raises(WasmtimeError) as small:
        compiled(wasm)
    with pytest.raises(WasmtimeError) as apart:
        compiled(wasm + padding)
    assert str(apart.value).strip() == str(small.value).strip()


def test_a_compiler_that_wants_more_memory_is_ended() -> None:
    """8 KB that would take 10 GB."""
    with pytest.raises(GuestLoadError) as caught:
        compiled(nested_loops(8192), limits=CompileLimits(memory=128 * MIB))
    assert str(caught.value) == (
        "wasm: compilation takes more than 134217728 bytes of memory; raise limits.compileMemory"
    )


def test_a_compiler_that_wants_more_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        compilation, "_PROGRAM", ["-c", "import resource; resource.setrlimit(0, (1, 2))\nwhile 1: pass"]
    )
    with pytest.raises(GuestLoadError) as caught:
        compiled(large(), limits=CompileLimits(timeout=1))
    assert str(caught.value) == "wasm: compilation takes more than 1 s of CPU time; raise limits.compileTimeout"


def test_the_child_limits_its_own_time_and_memory() -> None:
    """Read back from inside: the limits hold before the wasm is read."""
    code = (
        "import resource, sys; from kubewasp.wasm import compile_worker as w\n"
        "w.compiled = lambda *_, **__: sys.exit(str([resource.getrlimit(n)[0] for n in "
        "(resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_CORE)]))\nw.main()"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "_PROGRAM", ["-c", code])
        with pytest.raises(GuestLoadError, match=r"\[7, 268435456, 0\]"):
            compiled(large(), limits=CompileLimits(timeout=6.5, memory=256 * MIB))


def test_a_child_that_gets_no_cpu_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_PROGRAM", ["-c", "import time; time.sleep(3600)"])
    monkeypatch.setattr(compilation, "_PATIENCE", 0.01)
    with pytest.raises(GuestLoadError, match=r"compilation takes more than 0\.001 s of CPU time"):
        compiled(large(), limits=CompileLimits(timeout=0.001))


def test_an_interrupted_parent_leaves_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def wait(self, timeout: float | None = None) -> int:
            if self not in children:
                children.append(self)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(compilation, "_PROGRAM", ["-c", "import time; time.sleep(3600)"])
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(large())
    assert children[0].returncode == -9


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "import os; os.kill(os.getpid(), 9)",
            "wasm: compilation was killed, probably by the system for lack of memory",
        ),
        ("raise SystemExit('no wasmtime here')", "wasm: compilation failed with exit code 1: no wasmtime here"),
        ("raise SystemExit(2)", "wasm: compilation failed with exit code 2: no output"),
    ],
)
def test_a_child_that_fails_otherwise_is_named(code: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_PROGRAM", ["-c", code])
    with pytest.raises(GuestLoadError) as caught:
        compiled(large())
    assert str(caught.value) == text


def test_the_child_sees_no_secrets_of_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setattr(compilation, "_PROGRAM", ["-c", "import os; raise SystemExit(str('TOKEN' in os.environ))"])
    with pytest.raises(GuestLoadError, match="exit code 1: False"):
        compiled(large())


def test_a_long_compilation_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(compilation, "_PATIENCE", 0.0)
    with caplog.at_level(logging.INFO):
        compiled(large())
    assert "Compiling a guest" in caplog.text


def test_limits_of_the_compilation_are_limits_of_the_guest() -> None:
    with pytest.raises(GuestLoadError, match="takes more than 134217728 bytes of memory"):
        Guest.load(nested_loops(8192), limits={"compile_memory": 128 * MIB})


def test_the_child_runs_where_the_package_is_found_by_path_only() -> None:
    """As with PYTHONPATH=src: the child gets the module path of this process."""
    assert compilation._environment()["PYTHONPATH"].split(":")[-1] in sys.path


def test_a_child_that_cannot_be_started_is_a_load_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(GuestLoadError, match=r"the process that compiles the guest cannot run: .*/no/such/python"):
        compiled(large())


def test_in_the_background_code_is_not_copied_and_compiled_at_low_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[compilation.Task] = []
    files: list[str] = []
    run, whole = compilation._run, Module.deserialize_file

    def recorded(task: compilation.Task, wasm: bytes, limits: CompileLimits) -> bytes:
        tasks.append(task)
        return run(task, wasm, limits)

    def opened(engine: Engine, path: str) -> Module:
        files.append(path)
        return whole(engine, path)

    monkeypatch.setattr(compilation, "_run", recorded)
    monkeypatch.setattr(compilation, "_LARGE", 16)
    monkeypatch.setattr(Module, "deserialize_file", opened)
    with compilation.in_background():
        assert compiled(large()).exports
        assert compilation._environment()["RAYON_NUM_THREADS"] == "1"
    assert [task.niceness for task in tasks] == [10]
    assert [path.startswith("/proc/self/fd/") for path in files] == [True]
    assert compiled(large()).exports
    assert [task.niceness for task in tasks] == [10, 0]
    assert len(files) == 1


# A text from one memory to another: the compiler's own code for that needs several memories, which are switched off.
TWO_MEMORIES = """(component
  (component $A
    (core module $m (memory (export "memory") 1) (func (export "f") (param i32 i32))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0))
    (core instance $i (instantiate $m))
    (func (export "f") (param "s" string) (canon lift (core func $i "f")
      (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
  (component $B
    (import "f" (func $f (param "s" string)))
    (core module $memory (memory (export "memory") 1))
    (core instance $own (instantiate $memory))
    (core func $lowered (canon lower (func $f) (memory (core memory $own "memory"))))
    (core module $m (import "" "f" (func $f (param i32 i32)))
      (func (export "g") (call $f (i32.const 0) (i32.const 0))))
    (core instance $i (instantiate $m (with "" (instance (export "f" (func $lowered))))))
    (func (export "g") (canon lift (core func $i "g"))))
  (instance $a (instantiate $A))
  (instance $b (instantiate $B (with "f" (func $a "f"))))
  (export "g" (func $b "g")))"""


def test_a_panic_of_the_compiler_is_a_load_error_with_its_cause() -> None:
    wasm = bytes(wat2wasm(TWO_MEMORIES))
    assert len(wasm) < IN_PROCESS  # and yet not compiled in this process, which would end with it
    engine = ComponentEngine(1 << 20)
    with pytest.raises(GuestLoadError, match=r"cannot compile this file: .*multiple memories.*switched off"):
        compile_and_keep(Component, engine.engine, engine.settings, wasm, limits=CompileLimits())
