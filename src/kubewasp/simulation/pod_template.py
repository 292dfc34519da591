"""Pods of one shape: defaults, encoding and parsing of their spec are done once.  HOT PATH (guard: make counts).

A trace has millions of pods and some hundred shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.codec import encode_message
from kubewasp.k8s.defaulting import default_pod
from kubewasp.k8s.varint import leb128

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.k8s.objects import PriorityClass
    from kubewasp.k8s.pods import Pod, PodParser


_METADATA: Final = "apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod without a name. `stored` is its manifest and `rest` its protobuf, both without metadata.

    `middle` and `tail` are its protobuf's metadata without annotations: between name and uid, and after the uid.
    """

    pod: Pod
    labels: Mapping[str, str]
    stored: Mapping[str, Any]
    rest: bytes
    middle: bytes
    tail: bytes

    def made(self, name: str, uid: str, annotations: Mapping[str, str]) -> tuple[dict[str, Any], Pod]:
        """The manifest of a pod as stored, and the pod."""
        metadata: dict[str, Any] = {"name": name, "namespace": self.pod.namespace, "uid": uid}
        metadata |= {"labels": self.labels, "annotations": annotations}
        if annotations:
            content = encode_message(_METADATA, metadata)
        else:
            content = _text(b"\x0a", name) + self.middle + _text(b"", uid) + self.tail
        encoded = b"\x0a" + leb128(len(content)) + content + self.rest
        return {**self.stored, "metadata": metadata}, replace(self.pod, name=name, uid=uid, encoded=encoded)


def template(
    namespace: str,
    labels: Mapping[str, str],
    spec: Mapping[str, Any],
    *,
    parser: PodParser,
    priority_class: Callable[[str], PriorityClass | None],
) -> PodTemplate:
    """The template of pods with a spec, as an API server stores it."""
    metadata = {"name": "", "namespace": namespace, "labels": labels}
    stored = default_pod({"metadata": metadata, "spec": spec}, uid="", priority_class=priority_class)
    rest = _field(2, "core.v1.PodSpec", stored["spec"]) + _field(3, "core.v1.PodStatus", stored["status"])
    return PodTemplate(parser.parse(stored), labels, {**stored, "metadata": {}}, rest, *_around_uid(metadata))


def _around_uid(metadata: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The encoded metadata between name and uid, with the tag of the uid, and after the uid."""
    name = len(_text(b"\x0a", "n"))
    one, other = (encode_message(_METADATA, {**metadata, "name": "n", "uid": uid}) for uid in ("u", "uu"))
    place = next(place for place, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return one[name:place], one[place + len(_text(b"", "u")) :]


def _text(tag: bytes, text: str) -> bytes:
    content = text.encode()
    return tag + leb128(len(content)) + content


def _field(number: int, message: str, value: Mapping[str, Any]) -> bytes:
    content = encode_message(message, value)
    return bytes([number << 3 | 2]) + leb128(len(content)) + content
