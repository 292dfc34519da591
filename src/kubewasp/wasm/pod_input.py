"""A pod as callers give it to a guest: parsed, as a manifest, or as protobuf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.pods import Pod, PodParser

if TYPE_CHECKING:
    from kubewasp.wasm.hook_runner import AnyPod


def encoded_pod(pod: AnyPod) -> bytes:
    if isinstance(pod, Pod):
        return pod.encoded
    return pod if isinstance(pod, bytes) else encode("Pod", pod)


def parsed_pod(pod: AnyPod) -> Pod:
    if isinstance(pod, Pod):
        return pod
    return PodParser().parse(decode("Pod", pod) if isinstance(pod, bytes) else pod)
