"""The request that binds a pod to a node."""

from __future__ import annotations

from typing import Any

from kubewasp.apiserver.api_resources import PODS
from kubewasp.apiserver.client import PreparedRequest
from kubewasp.k8s.codec import wrap_unknown
from kubewasp.k8s.schema import message_class


def binding_request(namespace: str, name: str, uid: str, node: str) -> PreparedRequest:
    """Binds the pod to the node; with a uid, only the pod that has it, not another one of the same name."""
    message: Any = message_class("core.v1.Binding")
    metadata = {"namespace": namespace, "name": name, "uid": uid}
    # Not through the codec, which checks what users write: this is made once for each pod.
    binding = message(metadata=metadata, target={"kind": "Node", "name": node}).SerializeToString()
    return PreparedRequest("POST", PODS.path_of(namespace, name, "binding"), wrap_unknown("v1", "Binding", binding))
