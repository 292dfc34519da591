from __future__ import annotations

from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.inspection import inspect_program
from kubewasp.wasi.program import load_program
from tests.guests.build import go_command, go_guest, wat_text
from tests.wasi.running import probe_file
from tests.wasi.test_component import command


def test_report_on_a_c_program() -> None:
    found = inspect_program(load_program(probe_file().read_bytes(), Capabilities()))
    assert (found.kind, found.wasi, found.runnable) == ("core module, command", "preview 1", True)
    asks = found.could_ask_for
    assert "path_open" in asks["files and directories"]
    assert "environ_get" in asks["environment variables"]
    assert "random_get" in asks["random numbers"]
    assert "sockets" not in asks
    assert any(grant.startswith("--dir ") for grant in found.grants)
    assert found.network.startswith("none")
    assert found.exports == ["memory", "_start"]


def test_report_on_a_reactor_a_command_and_a_component() -> None:
    reactor = inspect_program(load_program(go_guest("allhooks").read_bytes(), Capabilities()))
    assert (reactor.kind, reactor.runnable) == ("core module, reactor", False)
    assert "k8s.io/klog log" in reactor.could_ask_for["not WASI"]
    assert "sockets" not in inspect_program(load_program(go_command("gopher").read_bytes(), Capabilities())).grants
    component = inspect_program(load_program(command().read_bytes(), Capabilities()))
    assert (component.kind, component.wasi) == ("component, command", "preview 2 (0.2.0)")
    assert component.could_ask_for["files and directories"] == [
        "wasi:filesystem/types@0.2.0",
        "wasi:filesystem/preopens@0.2.0",
    ]


def test_an_import_that_is_there_twice_is_listed_once() -> None:
    twice = """(module
      (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
      (import "env" "f" (func)) (import "env" "f" (func))
      (memory (export "memory") 1)
      (func (export "_start")))"""
    found = inspect_program(load_program(wat_text(twice, "wasi-twice").read_bytes(), Capabilities()))
    assert found.could_ask_for == {"standard streams and open files": ["fd_write"], "not WASI": ["env f"]}
    assert found.problems == ["import env f is not WASI and not available"]
