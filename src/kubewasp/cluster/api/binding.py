"""The request that binds a pod to a node."""

from __future__ import annotations

from kubewasp.cluster.api.client import PreparedRequest
from kubewasp.cluster.api.resources import PODS
from kubewasp.k8s.codec import encode, wrap_unknown


def binding_request(namespace: str, name: str, uid: str, node: str) -> PreparedRequest:
    """Binds the pod to the node; with a uid, only the pod that has it, not another one of the same name."""
    metadata = {"namespace": namespace, "name": name, "uid": uid}
    binding = encode("Binding", {"metadata": metadata, "target": {"kind": "Node", "name": node}})
    return PreparedRequest("POST", PODS.path_of(namespace, name, "binding"), wrap_unknown("v1", "Binding", binding))
