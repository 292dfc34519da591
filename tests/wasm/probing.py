"""Calls of any kubewasp/v1 import through the guest `extension`."""

import struct
from collections.abc import Mapping
from typing import Any

from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from tests.guests import EXTENSION, EXTENSION_HOOKS, HOOKS
from tests.guests.build import wat
from tests.wasm.calls import STATUS_OF
from tests.wasm.steering import peek, steer

BUFFER, ROOM = 1024, 32768
_NAMES = [name for name, _ in EXTENSION]
_ALL_HOOKS = (*HOOKS, *EXTENSION_HOOKS)


def load(**settings: Any) -> Guest:
    return Guest.load(wat("extension"), name="probe", **settings)


def aim(cycle: GuestCycle, function: str, *arguments: int, hook: str = "") -> None:
    """From now on that import is called, in that hook or in all."""
    where = 1 << _ALL_HOOKS.index(hook) if hook else -1
    steer(cycle, which=_NAMES.index(function), where=where, **dict(zip("abcd", arguments, strict=False)))


def ask(cycle: GuestCycle, function: str, *arguments: int, hook: str = "prefilter") -> int:
    """Result of the import in that hook; node-1 is the current node."""
    aim(cycle, function, *arguments, hook=hook)
    status = STATUS_OF[hook](cycle)
    assert not cycle.failed, status.reason
    return peek(cycle, "result")


def text(cycle: GuestCycle, content: str | bytes, at: int = 512) -> tuple[int, int]:
    """Writes a text to the guest's memory; returns its address and length."""
    encoded = content.encode() if isinstance(content, str) else content
    cycle.runner.guest_memory.write(at, encoded, "test")
    return at, len(encoded)


def get(cycle: GuestCycle, function: str, *arguments: int, hook: str = "prefilter", room: int = ROOM) -> bytes:
    """The value of a getter."""
    length = ask(cycle, function, *arguments, BUFFER, room, hook=hook)
    assert length <= room
    return cycle.runner.guest_memory.read(BUFFER, length, "test")


def numbers(content: bytes, kind: str = "q") -> list[int]:
    return list(struct.unpack(f"<{len(content) // struct.calcsize(kind)}{kind}", content))


def resource(cycle: GuestCycle, name: str, hook: str = "prefilter") -> int:
    return ask(cycle, "resource", *text(cycle, name), hook=hook)


def node_info(cycle: GuestCycle, row: int, hook: str = "prefilter") -> list[int]:
    return numbers(get(cycle, "node_info", row, hook=hook))


def encoded_pod(
    name: str, labels: Mapping[str, str] | None = None, *, node: str = "", requests: Mapping[str, str] | None = None
) -> Pod:
    """A pod that guests can read, with one container."""
    container = {"name": "main", "image": "image", "resources": {"requests": dict(requests or {})}}
    manifest = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid of {name}", "labels": dict(labels or {})},
        "spec": {"containers": [container], "nodeName": node},
    }
    return PodParser().parse(manifest, encode("Pod", manifest))
