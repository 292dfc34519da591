"""Reference implementation of the core-module ABI: plain Python callbacks, one per host call.

`plugin bench` compares the adapter's speed with it, and tests compare the adapter's answers. It is short enough to be
read beside docs/abi.md. It has no limits: it is not for untrusted guests.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, cast

import orjson
from wasmtime import ExitTrap, Func, FuncType, Linker, Memory, Store, ValType, WasiConfig

from kubewasp.k8s.codec import decode
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.abi import CLASSIC_IMPORTS, EXTENSION, EXTENSION_IMPORTS, Import
from kubewasp.wasm.core.node_records import ResourceIds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.core.core_module import CoreModule

_FOREVER = 2**40


class CallbackHost:
    """One instance of a guest. The answers of getters are attributes: set them, then `call` a hook."""

    def __init__(self, module: CoreModule, *, config: str = "", args: Sequence[str] = (), severity: int = 0) -> None:
        self.pod = b""
        self.target_pod = b""
        self.nodes: Nodes | None = None
        self.table: NodeTable | None = None
        self.resources = ResourceIds()
        self.cycle = 0
        self.node = ""
        self.values: dict[str, bytes] = {"get_config": config.encode()}
        self.reason = b""
        self.received: dict[str, bytes] = {}
        self.annotations: dict[str, str] = {}
        self.logged: list[tuple[int, bytes]] = []
        self._severity = severity
        self._store = Store(module.engine.engine)
        self._store.set_epoch_deadline(_FOREVER)
        wasi = WasiConfig()
        wasi.argv = list(args)
        self._store.set_wasi(wasi)
        linker = Linker(module.engine.engine)
        linker.define_wasi()
        for item in CLASSIC_IMPORTS + EXTENSION_IMPORTS:
            result = {"": [], "i32": [ValType.i32()], "i64": [ValType.i64()]}[item.result]
            kind = FuncType([ValType.i32()] * len(item.parameters), result)
            linker.define_func(item.module, item.name, kind, self._function(item))
        self.exports = linker.instantiate(self._store, module.compiled).exports(self._store)
        self._memory = cast("Memory", self.exports["memory"])
        for name in module.start_functions:
            try:
                cast("Func", self.exports[name])(self._store)
            except ExitTrap as exit_trap:
                if exit_trap.code:
                    raise

    def call(self, hook: str, node: str = "") -> int:
        """The raw return value of a hook (0 for a hook without one)."""
        self.node = node
        self.reason = b""
        self.received = {}
        self.annotations = {}
        return int(cast("Func", self.exports[hook])(self._store) or 0)

    def _function(self, item: Import) -> Callable[..., int | None]:
        if item.module == EXTENSION:
            return self._extension(item)
        if item.result and item.parameters[-2:] == ("buf", "limit"):
            if len(item.parameters) == 4:
                return lambda name, length, buf, limit: self._answer(
                    self._of_node(item.name, self._read(name, length).decode()), buf, limit
                )
            return lambda buf, limit: self._answer(self._value(item.name), buf, limit)
        if item.name == "severity":
            return lambda: self._severity
        if item.name == "log":
            return lambda severity, at, length: self._log(severity, self._read(at, length))
        if item.name == "logs":
            return lambda severity, at, length, pairs, size: self._log(
                severity, self._read(at, length) + b"\0" + self._read(pairs, size)
            )
        if item.name == "result.status_reason":
            return self._set_reason
        if item.name.startswith("handle.") and len(item.parameters) == 4:
            return lambda _uid, _length, buf, limit: self._no_waiting_pod(buf, limit)
        return lambda buf, length: self.received.__setitem__(item.name, self._read(buf, length))

    def _extension(self, item: Import) -> Callable[..., int | None]:
        numbers: dict[str, Callable[..., int]] = {
            "now": time.time_ns,
            "cycle": lambda: self.cycle,
            "current_node": lambda: self._row(self.node),
            "at_hand": self._at_hand,
            "node_rows": lambda: 0 if self.nodes is None else self.nodes.row_count,
            "node_row": lambda at, length: self._row(self._read(at, length).decode("utf-8", "replace")),
            "resource": lambda at, length: self.resources.use(self._read(at, length).decode("utf-8", "replace")),
        }
        if item.name in numbers:
            return numbers[item.name]
        if item.name == "result.annotation":
            return self._annotate
        if item.name.startswith("result."):
            return lambda buf, length: self.received.__setitem__(item.name, self._read(buf, length))
        if item.parameters == ("row", "buf", "limit"):
            fits = item.name != "node_info"
            return lambda row, buf, limit: self._answer(self._of_row(item.name, row), buf, limit, fits=fits)
        if item.parameters == ("buf", "limit"):
            fits = item.name != "pod_requests"
            return lambda buf, limit: self._answer(self.values.get(item.name, b""), buf, limit, fits=fits)
        return lambda *_arguments: 0 if item.result else None

    def _annotate(self, key: int, key_length: int, value: int, value_length: int) -> None:
        self.annotations[self._read(key, key_length).decode()] = self._read(value, value_length).decode()

    def _at_hand(self, buf: int) -> int:
        row = self._row(self.node)
        generations = self._of_row("node_info", row)[:16] or bytes(16)
        self._memory.write(self._store, self.cycle.to_bytes(8, "little") + generations, buf & 0xFFFFFFFF)
        return row

    def _row(self, name: str) -> int:
        row = None if self.nodes is None else self.nodes.row(name)
        return -1 if row is None else row

    def _of_row(self, what: str, row: int) -> bytes:
        nodes = self.nodes
        if nodes is None or not 0 <= row < nodes.row_count or nodes.name(row) is None:
            return b""
        if what == "node_name":
            return cast("str", nodes.name(row)).encode()
        if what == "node_object":
            return nodes.encoded(row)
        table = self.table if self.table is not None else NodeTable.of(nodes)
        if what == "node_pods":
            return b"".join(_list_item(pod.encoded) for pod in table.pods_on[row].values())
        pairs: list[int] = []
        for name in self.resources.names:
            if name == "pods":
                pairs += [int(table.max_pods[row]), int(table.pod_count[row])]
            else:
                pairs += [int(table.allocatable_of(name)[row]), int(table.requested_of(name)[row])]
        non_zero = [int(table.non_zero[name][row]) for name in ("cpu", "memory")]
        generations = [nodes.generation_of(row), table.generation_of(row)]
        return struct.pack(f"<{4 + len(pairs)}q", *generations, *non_zero, *pairs)

    def _value(self, name: str) -> bytes:
        if name == "currentPod":
            return self.pod
        if name == "targetPod":
            return self.target_pod
        if name == "currentNodeName":
            return self.node.encode()
        if name == "nodeList":
            return b"\x0a\x06\x0a\x00\x12\x00\x1a\x00" + b"".join(
                _list_item(self._encoded(n)) for n in self.nodes or ()
            )
        return self.values.get(name, b"")

    def _of_node(self, what: str, name: str) -> bytes:
        known = self.nodes is not None and name in self.nodes
        if what == "node":
            return self._encoded(name) if known else b""
        return orjson.dumps(self._image_states(name) if known else None)

    def _encoded(self, name: str) -> bytes:
        nodes = cast("Nodes", self.nodes)
        return nodes.encoded(cast("int", nodes.row(name)))

    def _image_states(self, name: str) -> Mapping[str, Mapping[str, int]]:
        counts: dict[str, int] = {}
        images = {node: _images(self._encoded(node)) for node in self.nodes or ()}
        for sizes in images.values():
            for image in sizes:
                counts[image] = counts.get(image, 0) + 1
        return {image: {"Size": size, "NumNodes": counts[image]} for image, size in sorted(images[name].items())}

    def _answer(self, value: bytes, buf: int, limit: int, *, fits: bool = True) -> int:
        room = limit & 0xFFFFFFFF
        written = value if fits else value[: room & -8]
        if 0 < len(written) <= room:
            self._memory.write(self._store, written, buf & 0xFFFFFFFF)
        return len(value)

    def _read(self, at: int, length: int) -> bytes:
        at, length = at & 0xFFFFFFFF, length & 0xFFFFFFFF
        if at + length > self._memory.data_len(self._store):
            raise IndexError("outside of the guest's memory")
        return bytes(self._memory.read(self._store, at, at + length)) if length else b""

    def _set_reason(self, buf: int, length: int) -> None:
        self.reason = self._read(buf, length)

    def _log(self, severity: int, line: bytes) -> None:
        if severity >= self._severity:
            self.logged.append((severity, line))

    def _no_waiting_pod(self, buf: int, limit: int) -> None:
        if limit >= 8:
            self._memory.write(self._store, bytes(8), buf & 0xFFFFFFFF)


def _images(encoded: bytes) -> dict[str, int]:
    images = decode("Node", encoded).get("status", {}).get("images", [])
    return {name: image.get("sizeBytes", 0) for image in images for name in image.get("names", [])}


def _list_item(encoded: bytes) -> bytes:
    from kubewasp.k8s.varint import leb128

    return b"\x12" + leb128(len(encoded)) + encoded
