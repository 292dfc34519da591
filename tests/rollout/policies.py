"""Wasm policies by version: which node they reject, which one they prefer, and whether they fail."""

from functools import cache
from pathlib import Path

from wasmtime import wat2wasm

_LAST = """
  (func $last (result i32)
    (i32.load8_u (i32.sub (i32.add (i32.const 1024) (call $name (i32.const 1024) (i32.const 256))) (i32.const 1))))"""
_HOOKS = {
    "filter": """
  (func (export "filter") (result i32)
    (call $reason (i32.const 0) (i32.const {length}))
    {trap}
    (select (i32.const 2) (i32.const 0) (i32.eq (call $last) (i32.const {rejects}))))""",
    "score": """
  (func (export "score") (result i64)
    {trap}
    (select (i64.const {points}) (i64.const 0) (i32.eq (call $last) (i32.const {prefers}))))""",
    "permit": """
  (func (export "permit") (result i64) (i64.const {permit}))""",
    "reserve": """
  (func (export "reserve") (result i32) (i32.const 0))
  (func (export "unreserve"))""",
    "preenqueue": """
  (func (export "preenqueue") (result i32)
    (call $reason (i32.const 0) (i32.const {length}))
    (i32.const {gate}))""",
    "queuesort": """
  (func (export "queuesort") (result i32)
    (call $sort_key (i32.const 0) (i32.const 1)) (i32.const 0))""",
}


@cache
def wasm(
    version: str,
    *,
    hooks: tuple[str, ...] = ("filter", "score"),
    rejects: str = "",
    prefers: str = "",
    points: int = 100,
    traps: bool = False,
    loops: bool = False,
    waits: bool = False,
    gate: int = 0,
    signs: bool = False,
) -> bytes:
    """A policy: nodes are known by the last character of their names."""
    text = f"rejected by {version}"
    fields = {
        "length": len(text),
        "rejects": ord(rejects) if rejects else 0,
        "prefers": ord(prefers) if prefers else 0,
        "points": points << 32,
        "trap": "(unreachable)" if traps else "(loop $on (br $on))" if loops else "",
        "permit": (4 << 32) + 600_000 if waits else 0,
        "gate": gate,
    }
    imports = ['(import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))']
    imports += ['(import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))']
    if "queuesort" in hooks:
        imports += ['(import "kubewasp/v1" "result.sort_key" (func $sort_key (param i32 i32)))']
    if signs:  # one signature for all pods, set at the start
        imports += ['(import "kubewasp/v1" "pod_signature" (func $sign (param i32 i32)))']
        hooks_text = '(func (export "_initialize") (call $sign (i32.const 7) (i32.const 0)))'
    body = (hooks_text if signs else "") + "".join(_HOOKS[hook].format(**fields) for hook in hooks)
    memory = f'(memory (export "memory") 1) (data (i32.const 0) "{text}")'
    return bytes(wat2wasm(f"(module {' '.join(imports)} {memory} {_LAST} {body})"))


def write(path: Path, content: bytes) -> None:
    """Replaces a file at once, as an update would."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(path)
