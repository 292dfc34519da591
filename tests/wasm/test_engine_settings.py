"""Stack limits, and limits at both ends of their ranges."""

import resource
import subprocess
import sys

import pytest
from wasmtime import wat2wasm

from kubewasp.wasm.engine_settings import EngineSettings
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.limits import MIB

# Each limit alone at its minimum and its maximum. A limit may refuse the guest; it may not end the process.
EXTREMES = """
import sys
from kubewasp.errors import KubewaspError
from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.command import run
from kubewasp.wasi.program import load_program
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import _RANGES, Limits
from kubewasp.web.handler_module import load_handler_module
from kubewasp.web import web_config

wasm = bytes.fromhex(sys.argv[1])
nodes = [{"metadata": {"name": "node-1"}}]
loaded = 0

def attempt(function):
    global loaded
    try:
        function()
        loaded += 1
    except KubewaspError as error:
        print(error)

def plugin(limits):
    Guest.load(wasm, limits=limits).evaluate({"metadata": {"name": "pod-1"}}, nodes)

def program(capabilities):
    run(load_program(wasm, capabilities), capabilities)

for name, ends in _RANGES.items():
    for value in ends:
        attempt(lambda: plugin(Limits(**{name: value})))
for stack in (64 << 10, 3 << 20, 4 << 20):
    attempt(lambda: program(Capabilities(stack=stack)))
    attempt(lambda: load_handler_module(wasm, "module", web_config.WebLimits(stack=stack)))
print("loaded", loaded)
"""
GUEST = """
(module
  (memory (export "memory") 1)
  (func (export "_start"))
  (func (export "run") (result i64) (i64.const 0))
  (func (export "malloc") (param i32) (result i32) (i32.const 0))
  (func (export "free") (param i32))
  (func $deep (param i32) (result i32)
    (if (result i32) (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 0))))
  (func (export "filter") (result i32) (call $deep (i32.const 30000))))
"""


def run_extremes() -> str:
    command = [sys.executable, "-c", EXTREMES, bytes(wat2wasm(GUEST)).hex()]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


def test_no_limit_ends_the_process() -> None:
    said = run_extremes().splitlines()
    assert said[0].startswith("wasm: guest has ")
    assert said[0].endswith(" bytes, over the limit of 8")
    assert said[1:] == ["loaded 31"]


def test_a_stack_limit_that_no_thread_has_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2 * MIB, resource.RLIM_INFINITY))
    EngineSettings("test", (), stack=MIB).engine()
    with pytest.raises(GuestLoadError) as caught:
        EngineSettings("test", (), stack=MIB + 1).engine()
    assert str(caught.value) == (
        "stack limit of 1048577 bytes: threads have 2097152 bytes of stack, 1048576 of them for the host; "
        "lower the limit, or raise `ulimit -s`"
    )
