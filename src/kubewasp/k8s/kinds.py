"""Messages of the wire table by `apiVersion` and `kind`."""

from __future__ import annotations

from functools import cache
from typing import Final

from kubewasp.k8s.errors import ManifestError, quoted
from kubewasp.k8s.wire_table import messages

# In the lookup order of a kind without an apiVersion.
_PACKAGES: Final = {
    "core.v1": "v1",
    "apps.v1": "apps/v1",
    "batch.v1": "batch/v1",
    "storage.v1": "storage.k8s.io/v1",
    "policy.v1": "policy/v1",
    "scheduling.v1": "scheduling.k8s.io/v1",
    "coordination.v1": "coordination.k8s.io/v1",
    "events.v1": "events.k8s.io/v1",
    "apis.meta.v1": "v1",
}


def message_name(api_version: str, kind: str) -> str:
    """The message of an object, e.g. `storage.v1.CSINode` for `storage.k8s.io/v1` and `CSINode`."""
    for name in _messages_of(kind):
        if _PACKAGES[name.rpartition(".")[0]] == api_version:
            return name
    raise ManifestError("", f"unknown kind {quoted(kind)} in apiVersion {quoted(api_version)}")


def message_of_kind(kind: str) -> str:
    """The message of a kind alone: `core.v1.Pod` for `Pod`; a name such as `events.v1.Event` is unchanged."""
    if kind in messages():
        return kind
    names = _messages_of(kind)
    if not names:
        raise ManifestError("", f"unknown kind {quoted(kind)}")
    return names[0]


def api_versions(kind: str) -> tuple[str, ...]:
    """Every apiVersion of the kind; empty for an unknown kind."""
    return tuple(_PACKAGES[name.rpartition(".")[0]] for name in _messages_of(kind))


@cache
def _names_by_kind() -> dict[str, tuple[str, ...]]:
    by_kind: dict[str, tuple[str, ...]] = {}
    for package in _PACKAGES:
        for name in messages():
            message_package, _, kind = name.rpartition(".")
            if message_package == package:
                by_kind[kind] = (*by_kind.get(kind, ()), name)
    return by_kind


def _messages_of(kind: str) -> tuple[str, ...]:
    return _names_by_kind().get(kind, ())
