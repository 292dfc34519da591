"""Objects as they are recorded: without values of environment variables, pod templates and manifests in annotations.

HOT PATH (guard: make bars, recording): every object that changes. None of these has influence on a decision of the
scheduler's own plugins.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import DecodeError

from kubewasp.k8s.kinds import message_of_kind
from kubewasp.k8s.schema import message_class

# The whole manifest as it was applied, values of variables included.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_WITH_TEMPLATES: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})


def kept(kind: str, data: bytes) -> bytes:
    """The protobuf bytes to record. Those that cannot be read are left out: the scheduler skips them as well."""
    try:
        found: Any = message_class(message_of_kind(kind)).FromString(data)
    except (DecodeError, ValueError):
        return b""
    metadata = found.metadata
    metadata.ClearField("managedFields")
    if _LAST_APPLIED in metadata.annotations:
        del metadata.annotations[_LAST_APPLIED]
    if kind == "Pod":
        spec = found.spec
        debuggers = (container.ephemeralContainerCommon for container in spec.ephemeralContainers)
        for container in (*spec.containers, *spec.initContainers, *debuggers):
            for variable in container.env:
                variable.value = ""
    elif kind in _WITH_TEMPLATES:
        found.spec.ClearField("template")
    return bytes(found.SerializeToString())
