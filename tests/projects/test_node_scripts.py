"""Start snapshots of modules by `node_scripts/snapshot.mjs`: memory, exports, fixed inputs, errors."""

import json
import subprocess
from pathlib import Path

import pytest
import wasmtime

from kubewasp.projects import node

# Reads a file and its standard input, random numbers and the time into memory, and grows it.
MODULE = """(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "other" "thing" (func $other))
  (memory (export "memory") 1)
  (data (i32.const 8) "/source.js")
  (data (i32.const 40) "\\40\\01\\00\\00\\20\\00\\00\\00")
  (data (i32.const 48) "\\60\\01\\00\\00\\20\\00\\00\\00")
  (data (i32.const 56) "\\08\\00\\00\\00\\0a\\00\\00\\00")
  (func (export "init")
    (drop (call $random (i32.const 256) (i32.const 16)))
    (drop (call $time (i32.const 0) (i64.const 0) (i32.const 280)))
    (drop (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 10) (i32.const 0)
      (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 300)))
    (drop (call $read (i32.load (i32.const 300)) (i32.const 40) (i32.const 1) (i32.const 304)))
    (drop (call $read (i32.const 0) (i32.const 48) (i32.const 1) (i32.const 308)))
    (drop (memory.grow (i32.const 2)))
    (i32.store8 (i32.const 196607) (i32.const 7)))
  (func (export "fail")
    (drop (call $write (i32.const 2) (i32.const 56) (i32.const 1) (i32.const 304)))
    (call $exit (i32.const 3)))
  (func (export "trap") unreachable)
  (func (export "leave") (call $other))
  (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0))))"""

SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
import { snapshot } from %s;
const [module, output, initializer] = process.argv.slice(1);
const files = { "source.js": "a file" };
try {
  const settings = { initializer, dropped: ["init"], environment: { A: "b" }, input: "words", files };
  const made = snapshot(readFileSync(module), settings);
  writeFileSync(output, made);
} catch (error) {
  process.stdout.write(JSON.stringify(error.message));
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "in.wasm"
    path.write_bytes(wasmtime.wat2wasm(MODULE))
    return path


def snapshot(module: Path, initializer: str = "init", *, name: str = "out.wasm") -> bytes:
    script = SCRIPT % json.dumps((node.SCRIPTS / "snapshot.mjs").as_uri())
    made = module.with_name(name)
    command = [node.find().command, "--input-type=module", "-e", script, str(module), str(made), initializer]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout).encode() if done.stdout else made.read_bytes()


def test_an_instance_begins_with_the_memory_after_the_initializer(module: Path) -> None:
    engine = wasmtime.Engine()
    store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
    found = wasmtime.Module(engine, snapshot(module))
    linker.define_unknown_imports_as_traps(found)
    exports = linker.instantiate(store, found).exports(store)
    memory = exports["memory"]
    assert isinstance(memory, wasmtime.Memory)
    assert memory.size(store) == 3
    assert memory.read(store, 8, 18) == b"/source.js"  # as before
    assert memory.read(store, 320, 326) == b"a file"
    assert memory.read(store, 352, 357) == b"words"
    load = exports["load"]
    assert isinstance(load, wasmtime.Func)
    assert load(store, 3 * 65536 - 1) == 7


def test_the_initializer_is_gone_and_other_exports_stay(module: Path) -> None:
    exports = wasmtime.Module(wasmtime.Engine(), snapshot(module)).exports
    assert [export.name for export in exports] == ["memory", "fail", "trap", "leave", "load"]


def test_each_snapshot_has_the_same_bytes(module: Path) -> None:
    assert snapshot(module) == snapshot(module, name="again.wasm")


@pytest.mark.parametrize(
    ("initializer", "message"),
    [
        ("fail", "/source.js"),
        ("trap", "unreachable"),
        ("leave", "other thing: not available while the plugin is built"),
    ],
)
def test_a_failed_initializer_is_an_error_with_its_output(module: Path, initializer: str, message: str) -> None:
    assert snapshot(module, initializer).decode() == message


EXPLAIN = """
import { explained } from %s;
const [text, bundle] = process.argv.slice(1);
process.stdout.write(explained(text, bundle));
"""
BUNDLE = 'globalThis.kubewaspSourceLines = {"files":["","plugin.js"],"lines":[0,[1,7],0]};\nboom\nsdk'
THROWN = """Failed to initialize component (wizer (/some/where/wizer)):
Exception while evaluating top-level script
source.js:2:1 TypeError: x is null
Additionally, some promises were rejected, but the rejection never handled:
Promise rejected but never handled: x is null
Stack:
  @source.js:2:1
  f@source.js:3:4"""


def explained(text: str) -> str:
    script = EXPLAIN % json.dumps((node.SCRIPTS / "engine_errors.mjs").as_uri())
    command = [node.find().command, "--input-type=module", "-e", script, text, BUNDLE]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_an_error_of_the_top_level_has_the_place_of_the_author() -> None:
    assert explained(THROWN) == "plugin.js:7 TypeError: x is null\n  @plugin.js:7"


def test_a_top_level_that_does_not_end_is_named() -> None:
    found = explained('Error: "source.js" does not export a "call" function as expected by the world.')
    assert found.startswith("the top level of the plugin does not end")


def test_an_unknown_error_is_shown_as_it_is() -> None:
    assert explained("something else") == "something else"


def test_the_digest_of_the_tools_follows_the_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = node.tools_digest()
    for path in node.SCRIPTS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(node, "SCRIPTS", tmp_path)
    assert node.tools_digest() == before
    (tmp_path / "snapshot.mjs").write_text("// changed")
    assert node.tools_digest() != before
