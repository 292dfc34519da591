"""Interposer and shim: generated modules between a program and the runtime's WASI preview 1.

Calls pass through the interposer to the runtime, inside the sandbox and without Python. Python is called for standard
streams, sleeping, denied calls, and every call under `--trace`. The shim breaks a cycle (the program needs its imports
first, the interposer needs the program's memory), as in wasm/core/adapter.py.

The interposer tracks four descriptors: the standard streams and the sentinel, an empty preopened directory named `/`.
The program's C library chooses the preopen for a path; without the sentinel, a path below no preopen would
never reach the host, and the denial could not be reported.
"""

from __future__ import annotations

from functools import cache

from kubewasp.wasi.preview1 import FUNCTIONS, MODULE, Function

# Host functions with their number of i32 parameters; each returns an error number, or traps to end the program.
HOST = {
    "read": 3,
    "write": 4,
    "poll": 4,
    # function, error, directory and path, second directory and path, flags and rights of path_open
    "denied": 10,
}
FUNCTION_NAMES = tuple(FUNCTIONS)
_PATHS = tuple(name for name in FUNCTIONS if name.startswith("path_"))
_PLAIN = (*_PATHS, "fd_read", "fd_write", "fd_close", "fd_renumber", "poll_oneoff", "proc_exit")
_TRACKED = ("stdin", "stdout", "stderr", "sentinel")

_HEAD = """
  (global $stdin (mut i32) (i32.const 0))
  (global $stdout (mut i32) (i32.const 1))
  (global $stderr (mut i32) (i32.const 2))
  (global $sentinel (export "sentinel") (mut i32) (i32.const -1))
  (global $exit_code (export "exit_code") (mut i32) (i32.const -1))
  ;; ACCES, PERM, ROFS, NOTCAPABLE
  (func $is_denial (param $error i32) (result i32)
    (i32.or
      (i32.or (i32.eq (local.get $error) (i32.const 2)) (i32.eq (local.get $error) (i32.const 63)))
      (i32.or (i32.eq (local.get $error) (i32.const 69)) (i32.eq (local.get $error) (i32.const 76)))))
"""


def interposed(imported: frozenset[str], *, traced: bool) -> tuple[str, ...]:
    """Imports of a program that pass through the interposer."""
    return tuple(name for name in (FUNCTIONS if traced else _PLAIN) if name in imported)


@cache
def shim_wat(names: tuple[str, ...]) -> str:
    """Shim: one trampoline per function, through a table that the interposer fills at instantiation."""
    trampolines = "\n".join(
        f'  (func (export "{name}"){_signature(FUNCTIONS[name])}\n'
        f"    (call_indirect{_signature(FUNCTIONS[name])} {_arguments(FUNCTIONS[name])} (i32.const {index})))"
        for index, name in enumerate(names)
    )
    return f'(module $kubewasp_wasi_shim\n  (table (export "table") {len(names)} funcref)\n{trampolines})\n'


def interposer_imports(names: tuple[str, ...], *, traced: bool) -> list[tuple[str, str]]:
    """Imports of the interposer after memory and table, in this order."""
    runtime = [(MODULE, name) for name in names]
    return [*runtime, *(("host", name) for name in HOST), *(("trace", name) for name in names if traced)]


@cache
def interposer_wat(names: tuple[str, ...], *, traced: bool) -> str:
    """Interposer: one wrapper per function; `traced` reports every call to the host."""
    parts = ["(module $kubewasp_wasi_interposer", '  (import "guest" "memory" (memory $memory 0))']
    parts.append(f'  (import "shim" "table" (table $table {len(names)} funcref))')
    for module, name in interposer_imports(names, traced=traced):
        kind = _import_signature(module, name)
        parts.append(f'  (import "{module}" "{name}" (func ${module}.{name}{kind}))')
    parts.append('  (export "memory" (memory $memory))')
    parts.append(_HEAD)
    for name in names:
        parts.append(_function(FUNCTIONS[name]))
        if traced:
            parts.append(_tracing(FUNCTIONS[name]))
    prefix = "traced" if traced else "do"
    elements = " ".join(f"${prefix}.{name}" for name in names)
    parts.append(f"  (elem (table $table) (i32.const 0) func {elements}))")
    return "\n".join(parts) + "\n"


def trace_types(function: Function) -> tuple[str, ...]:
    """Types of a traced call: its parameters and its result."""
    return (*function.types, *(("i32",) if function.returns else ()))


def _signature(function: Function) -> str:
    parameters = f" (param {' '.join(function.types)})" if function.types else ""
    return parameters + (" (result i32)" if function.returns else "")


def _import_signature(module: str, name: str) -> str:
    if module == MODULE:
        return _signature(FUNCTIONS[name])
    if module == "host":
        return f" (param{' i32' * HOST[name]}) (result i32)"
    return f" (param {' '.join(trace_types(FUNCTIONS[name]))})"


def _arguments(function: Function) -> str:
    return " ".join(f"(local.get {place})" for place in range(len(function.types)))


def _function(function: Function) -> str:
    name = function.name
    body = _BODIES.get(name) or (_path_body(function) if name in _PATHS else _runtime(function))
    return f"  (func $do.{name}{_signature(function)} (local $error i32)\n    {body})"


def _runtime(function: Function) -> str:
    return f"(call ${MODULE}.{function.name} {_arguments(function)})"


def _is(place: int, file: str) -> str:
    return f"(i32.eq (local.get {place}) (global.get ${file}))"


def _path_body(function: Function) -> str:
    """NOENT below the sentinel, else the runtime; both kinds of denial are reported to the host."""
    directories = [function.place(name) for name in ("fd", "new_fd") if function.place(name) >= 0]
    on_sentinel = _is(directories[0], "sentinel")
    if len(directories) > 1:
        on_sentinel = f"(i32.or {on_sentinel} {_is(directories[1], 'sentinel')})"
    return f"""(if {on_sentinel}
      (then (local.set $error (i32.const 44)))
      (else (local.set $error {_runtime(function)}) (if (i32.eqz (call $is_denial (local.get $error)))
        (then (return (local.get $error))))))
    (drop (call $host.denied {_denial(function)}))
    (local.get $error)"""


def _denial(function: Function) -> str:
    def value(name: str, offset: int = 0) -> str:
        place = function.place(name)
        return "(i32.const 0)" if place < 0 else f"(local.get {place + offset})"

    second = "new_path" if function.place("new_fd") >= 0 else "target"
    fields = [f"(i32.const {FUNCTION_NAMES.index(function.name)})", "(local.get $error)"]
    fields += [value("fd"), value("path"), value("path", 1)]
    fields += [value("new_fd"), value(second), value(second, 1)]
    rights = f"(i32.wrap_i64 {value('rights')})" if function.place("rights") >= 0 else "(i32.const 0)"
    return " ".join([*fields, value("oflags"), rights])


def _forget(place: int) -> str:
    """Stops tracking a closed descriptor: its number may be used again."""
    return " ".join(f"(if {_is(place, file)} (then (global.set ${file} (i32.const -1))))" for file in _TRACKED)


def _renumbered() -> str:
    return " ".join(f"(if {_is(0, file)} (then (global.set ${file} (local.get 1))))" for file in _TRACKED)


def _tracing(function: Function) -> str:
    if not function.returns:
        report = f"(call $trace.{function.name} {_arguments(function)})"
        return (
            f"  (func $traced.{function.name}{_signature(function)} {report} (call $do.{function.name} (local.get 0)))"
        )
    return f"""  (func $traced.{function.name}{_signature(function)} (local $error i32)
    (local.set $error (call $do.{function.name} {_arguments(function)}))
    (call $trace.{function.name} {_arguments(function)} (local.get $error))
    (local.get $error))"""


_BODIES = {
    "fd_read": f"""(if (result i32) {_is(0, "stdin")}
      (then (call $host.read (local.get 1) (local.get 2) (local.get 3)))
      (else {_runtime(FUNCTIONS["fd_read"])}))""",
    "fd_write": f"""(if (result i32) {_is(0, "stdout")}
      (then (call $host.write (i32.const 1) (local.get 1) (local.get 2) (local.get 3)))
      (else (if (result i32) {_is(0, "stderr")}
        (then (call $host.write (i32.const 2) (local.get 1) (local.get 2) (local.get 3)))
        (else {_runtime(FUNCTIONS["fd_write"])}))))""",
    "fd_close": f"""(local.set $error {_runtime(FUNCTIONS["fd_close"])})
    (if (i32.eqz (local.get $error)) (then {_forget(0)}))
    (local.get $error)""",
    "fd_renumber": f"""(local.set $error {_runtime(FUNCTIONS["fd_renumber"])})
    (if (i32.and (i32.eqz (local.get $error)) (i32.ne (local.get 0) (local.get 1)))
      (then {_forget(1)} {_renumbered()}))
    (local.get $error)""",
    "poll_oneoff": "(call $host.poll (local.get 0) (local.get 1) (local.get 2) (local.get 3))",
    # The runtime's own proc_exit allows codes up to 125 only.
    "proc_exit": "(global.set $exit_code (i32.and (local.get 0) (i32.const 255))) (unreachable)",
}
