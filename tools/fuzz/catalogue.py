"""Fuzz targets by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

TARGETS: Final = {
    "manifests": "tools.fuzz.targets.manifests",
    "configurations": "tools.fuzz.targets.configurations",
    "scenarios": "tools.fuzz.targets.scenarios",
    "extender bodies": "tools.fuzz.targets.extender_bodies",
    "http heads": "tools.fuzz.targets.http_heads",
    "wire codec": "tools.fuzz.targets.wire_codec",
    "oci manifests": "tools.fuzz.targets.oci_manifests",
    "core guests": "tools.fuzz.targets.core_guests",
    "load checks": "tools.fuzz.targets.load_checks",
    "component answers": "tools.fuzz.targets.component_answers",
    "signatures": "tools.fuzz.targets.signatures",
    "abi calls": "tools.fuzz.targets.abi_calls",
    "recordings": "tools.fuzz.targets.recordings",
    "image layers": "tools.fuzz.targets.image_layers",
    "console requests": "tools.fuzz.targets.console_requests",
}


class Target(Protocol):
    """Module of one target."""

    def seeds(self) -> Iterable[bytes]:
        """Valid input, and input at the edge of validity."""

    def one(self, data: bytes) -> str:
        """Processes one input. The label names the kind of outcome, such as the shape of an error text."""


def target(name: str) -> Target:
    return cast("Target", import_module(TARGETS[name]))
