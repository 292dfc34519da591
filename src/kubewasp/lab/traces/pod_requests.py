"""Requests of the pods of a trace as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.k8s import quantity
from kubewasp.k8s.resources import CPU

if TYPE_CHECKING:
    from collections.abc import Mapping


def requests_of(spec: Mapping[str, Any]) -> dict[str, int]:
    """Requested amounts by resource; CPU in millicores."""
    written = spec["containers"][0]["resources"]["requests"]
    return {name: _amount(name, text) for name, text in written.items()}


def _amount(resource: str, text: str) -> int:
    parsed = quantity.parse(text)
    return -(-parsed.nanos // 10**6) if resource == CPU else parsed.value()
