"""Annotations that plugins add to a pod with its binding: checks, and conflicts between plugins."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.annotations import MOST_ANNOTATION_BYTES, annotations_size, key_problem, shown_key, size_problem
from kubewasp.k8s.codec import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.pods import Pod

MOST_ANNOTATIONS: Final = 64  # of one hook


class AnnotationError(ValueError):
    """Annotations that cannot go with a binding; the text names key and plugins."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation of a binding, and the plugin that chose it."""

    key: str
    value: str
    plugin: str


# The annotations of one attempt by key.
BindingAnnotations = MappingProxyType[str, Annotation]
NO_ANNOTATIONS: Final[BindingAnnotations] = MappingProxyType({})


def merged(known: BindingAnnotations, sent: Mapping[str, str], plugin: str, pod: Pod) -> BindingAnnotations:
    """The annotations with those of one more hook. A plugin may change its own, and none of another plugin.

    The total size counts those of the pod itself, which a binding overrides.
    """
    if len(sent) > MOST_ANNOTATIONS:
        raise AnnotationError(f"{len(sent)} annotations are over the limit of {MOST_ANNOTATIONS}")
    found = dict(known)
    for key, value in sent.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise AnnotationError(f"annotation {key!r:.80}: keys and values must be strings")
        if problem := key_problem(key):
            raise AnnotationError(problem)
        other = known.get(key)
        if other is not None and other.plugin != plugin and other.value != value:
            raise AnnotationError(
                f'annotation "{shown_key(key)}": plugin "{plugin}" has the value "{_short(value)}", '
                f'plugin "{other.plugin}" has "{_short(other.value)}"'
            )
        found[key] = Annotation(key, value, plugin if other is None else other.plugin)
    annotations = MappingProxyType(found)
    if annotations_size(values(annotations)) + len(pod.encoded) > MOST_ANNOTATION_BYTES:  # most pods need no decoding
        own = (decode("Pod", pod.encoded).get("metadata") or {}).get("annotations") or {}
        if problem := size_problem(own | values(annotations)):
            raise AnnotationError(f"{problem} (with {len(own)} of the pod)")
    return annotations


def values(annotations: BindingAnnotations) -> dict[str, str]:
    """The annotations as those of an object."""
    return {key: item.value for key, item in annotations.items()}


def _short(value: str) -> str:
    return value if len(value) <= 80 else f"{value[:80]}…"
