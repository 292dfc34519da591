"""Kubernetes events that a plugin records about pods and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubewasp_sdk.objects import KubernetesObject


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an event is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"
    resource_version: str = ""

    @classmethod
    def of(cls, about: KubernetesObject) -> ObjectReference:
        metadata = about.raw.get("metadata") or {}
        namespace, version = (str(metadata.get(key) or "") for key in ("namespace", "resourceVersion"))
        return cls(about.kind, about.name, namespace, about.uid, resource_version=version)

    def wire(self) -> dict[str, str]:
        """The reference with the field names of the ABI."""
        return {
            "Kind": self.kind,
            "APIVersion": self.api_version,
            "Name": self.name,
            "Namespace": self.namespace,
            "UID": self.uid,
            "ResourceVersion": self.resource_version,
        }


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event, as `kubectl describe` shows it. `type` is Normal or Warning."""

    type: str
    reason: str
    note: str
    action: str
    regarding: ObjectReference
    related: ObjectReference | None = None

    def wire(self) -> dict[str, Any]:
        """The event with the field names of the ABI."""
        sent: dict[str, Any] = {"RegardingReference": self.regarding.wire()}
        if self.related is not None:
            sent["RelatedReference"] = self.related.wire()
        return sent | {"Eventtype": self.type, "Reason": self.reason, "Action": self.action, "Note": self.note}
