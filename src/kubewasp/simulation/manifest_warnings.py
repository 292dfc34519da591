"""Warnings about likely mistakes in manifests: unknown fields and values, mistyped kinds, fractions of bytes.

Each mistake once, with a count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.k8s import quantity
from kubewasp.k8s.errors import ManifestError, quoted
from kubewasp.k8s.kinds import api_versions, message_name, message_of_kind
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.k8s.spelling import LIKE, did_you_mean, nearest
from kubewasp.k8s.unknown_fields import place, unknown_fields
from kubewasp.k8s.unknown_values import unknown_values
from kubewasp.simulation.workloads import WORKLOADS
from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.k8s.manifests import Manifest

_MOST: Final = 50
_DOCUMENT: Final = re.compile(r": document \d+(: items\[\d+\])?$")
_READ: Final = ("Pod", "Node", *WORKLOADS, *KINDS)
_GROUPS: Final = frozenset(version.rpartition("/")[0] for kind in _READ for version in api_versions(kind))


@dataclass(slots=True)
class _Mistake:
    """The first occurrence, and the last object with the number of objects."""

    text: str
    last: str
    objects: int = 1


class ManifestWarnings:
    """Mistakes in the manifests of one command."""

    def __init__(self) -> None:
        self._mistakes: dict[tuple[str, ...], _Mistake] = {}
        self._left_out = 0

    def examine(self, manifest: Manifest) -> None:
        """Looks for unknown fields and values in an object of a kind that kubewasp reads."""
        message = _message(manifest)
        if message is None:
            return
        named = _named(manifest)
        for field in unknown_fields(message, manifest.body):
            self._add((manifest.kind, field.place, field.meant), named, f"{named}: {field}")
        for value in unknown_values(message, manifest.body):
            self._add((manifest.kind, value.place, value.problem), named, f"{named}: {value}")
        for path, text in _fractional_bytes(manifest):
            self._add((manifest.kind, place(path), text), named, f"{named}: {path}: {text}")

    def examine_kind(self, manifest: Manifest) -> bool:
        """Whether a kind that kubewasp does not read is a mistyped one."""
        if manifest.api_version.rpartition("/")[0] not in _GROUPS:
            return False
        meant = nearest(manifest.kind, _READ, LIKE)
        if meant:
            text = f"kind: unknown kind {quoted(manifest.kind)}, ignored{did_you_mean(meant)}"
            self._add(("", manifest.kind), manifest.source, f"{manifest.source}: {text}")
        return bool(meant)

    def add_all(self, others: ManifestWarnings) -> None:
        """Adds the mistakes in other manifests."""
        for key, mistake in others._mistakes.items():
            self._add(key, mistake.last, mistake.text, mistake.objects)
        self._left_out += others._left_out

    def texts(self) -> list[str]:
        found = []
        for mistake in self._mistakes.values():
            more = mistake.objects - 1
            found.append(mistake.text + (f" (and in {more} more object{'s' * (more > 1)})" if more else ""))
        if self._left_out:
            found.append(f"{self._left_out} more mistakes in manifests")
        return found

    def raise_if_any(self) -> None:
        """For `--strict`: all mistakes in one error."""
        texts = self.texts()
        if texts:
            raise ManifestError("", "\n".join(texts))

    def _add(self, key: tuple[str, ...], where: str, text: str, objects: int = 1) -> None:
        known = self._mistakes.get(key)
        if known is None and len(self._mistakes) < _MOST:
            self._mistakes[key] = _Mistake(text, where, objects)
        elif known is None:
            self._left_out += objects
        elif known.last != where:
            known.last = where
            known.objects += objects


def _message(manifest: Manifest) -> str | None:
    """The message of a kind in one of its known versions: fields of other versions are not known."""
    try:
        if manifest.api_version:
            return message_name(manifest.api_version, manifest.kind)
        return message_of_kind(manifest.kind)
    except ManifestError:
        return None


def _fractional_bytes(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Memory and storage in thousandths of a byte, such as 100m for 100M, with the text of the API server."""
    spec, path = manifest.body.get("spec") or {}, "spec"
    if manifest.kind in WORKLOADS:
        spec, path = (spec.get("template") or {}).get("spec") or {}, "spec.template.spec"
    elif manifest.kind != "Pod":
        return
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(kind) or ()):
            for part in ("limits", "requests"):
                amounts = (container.get("resources") or {}).get(part) or {}
                for name in ("memory", "ephemeral-storage"):
                    amount = quantity.parse(amounts.get(name) or 0)
                    if amount.nanos % 10**9:
                        text = f'fractional byte value "{amount}" is invalid, must be an integer'
                        yield f"{path}.{kind}[{number}].resources.{part}[{name}]", text


def _named(manifest: Manifest) -> str:
    """File and object: `pods.yaml: Pod default/web`."""
    name = name_of(manifest.body)
    if not name:
        return manifest.source
    namespace = "" if manifest.kind in CLUSTER_SCOPED else f"{namespace_of(manifest.body)}/"
    return f"{_DOCUMENT.sub('', manifest.source)}: {manifest.kind} {namespace}{name}"
