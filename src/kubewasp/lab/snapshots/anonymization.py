"""Aliases for the texts of a snapshot: names, label values, images, uids and addresses.

An alias is a keyed hash of the text. One text has one alias wherever it stands, different texts have different ones,
and names that Kubernetes composes of others (`web-0`, `data-web-0`) are composed of their aliases: scheduling comes to
the same decisions, up to the renaming.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s.csi_migration import MULTIZONE_SEPARATOR
from kubewasp.k8s.defaulting import SYSTEM_PRIORITIES
from kubewasp.k8s.nodes import BETA_ZONE, ZONE
from kubewasp.k8s.storage import parse_storage_class
from kubewasp.lab.snapshots.snapshot_fields import Sort
from kubewasp.simulation.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# Public values that scheduling or a reader needs.
_KEPT: Final = frozenset(
    (
        *("true", "false", "linux", "windows", "amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"),
        *("default", "kube-system", "kube-public", "kube-node-lease", *SYSTEM_PRIORITIES),
        "rbd",  # default pool of such a volume
    )
)
_KEPT_ADDRESSES: Final = frozenset(("0.0.0.0", "::", "127.0.0.1", "::1"))  # noqa: S104 - no socket here
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ALPHABET: Final = _LETTERS + "234567"
_LENGTH: Final = 10  # 49 bits
_SMALL_INTEGER: Final = re.compile(r"[0-9]{1,4}")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_ORDINAL: Final = re.compile(r"(.+)-([0-9]{1,5})")
_AWS: Final = re.compile(r"aws://([^/]*)/(.*)", re.DOTALL)
_COMPARED: Final = (b'"Gt"', b'"Lt"')


class Aliases:
    """Aliases of one snapshot.

    Args:
        salt: Key of the hashes; with it, guessed names can be tested.
        objects: All objects of the snapshot as JSON, for names that are composed of others.
        kept_labels: Keys of labels whose values are not replaced.
    """

    def __init__(self, salt: bytes, objects: Iterable[bytes], kept_labels: Iterable[str] = ()) -> None:
        self._salt = hashlib.sha256(salt).digest()
        self._kept = set(_KEPT)
        self._kept_labels = frozenset(kept_labels)
        self._prefixes: dict[str, str] = {}
        self._composed: dict[str, tuple[str, str]] = {}
        self._workloads: set[str] = set()
        self._compared: set[str] = set()
        self._known: dict[tuple[Sort, str], str] = {}
        self._taken: dict[str, str] = {}
        lines = list(objects)
        for line in lines:
            if any(mark in line for mark in _COMPARED):
                for key, values in _comparisons(orjson.loads(line)):
                    self._compared.add(key)
                    self._keep_integers(values)
        defaults: set[str] = set()
        for line in lines:
            body = orjson.loads(line)
            self._note(body)
            if body["kind"] == "StorageClass" and parse_storage_class(body).is_default:
                defaults.add(body["metadata"]["name"])
        if len(defaults) > 1:  # of those made at one time, the first by name counts
            for rank, name in enumerate(sorted(defaults)):
                self._prefixes.setdefault(name, f"class-{rank:02}-")

    def __call__(self, sort: Sort, text: str) -> str:
        """The alias of a text."""
        found = self._known.get((sort, text))
        if found is None:
            found = self._known[sort, text] = self._alias(sort, text)
        return found

    def _alias(self, sort: Sort, text: str) -> str:
        if not text:
            return ""  # as if it were missing
        if sort is Sort.IMAGE:
            return self._image(text)
        if sort is Sort.UID:
            return self._uid(text)
        if sort is Sort.ADDRESS:
            return text if text in _KEPT_ADDRESSES else self._address(text)
        if sort is Sort.HANDLE and (aws := _AWS.fullmatch(text)):
            return f"aws://{self(Sort.NAME, aws[1])}/{self(Sort.NAME, aws[2])}"
        return self._name(text)

    def _name(self, text: str) -> str:
        if text in self._kept or _SMALL_INTEGER.fullmatch(text):
            return text
        if MULTIZONE_SEPARATOR in text:
            parts = text.split(MULTIZONE_SEPARATOR)
            return MULTIZONE_SEPARATOR.join(self(Sort.NAME, part) for part in parts)
        if text in self._composed:
            return "-".join(self(Sort.NAME, part) for part in self._composed[text])
        ordinal = _ORDINAL.fullmatch(text)
        if ordinal is not None and ordinal[1] in self._workloads:
            return f"{self(Sort.NAME, ordinal[1])}-{ordinal[2]}"
        return self._prefixes.get(text, "") + self._token(text)

    def _image(self, text: str) -> str:
        """An image with its form: a missing tag means `latest`, and a digest is no tag."""
        rest, at, digest = text.partition("@")
        repository, colon, tag = rest.rpartition(":")
        if not colon or "/" in tag:
            repository, colon, tag = rest, "", ""
        shown_tag = tag if tag == "latest" else self._token(tag) if tag else ""
        shown_digest = f"sha256:{self._hash(f'digest {digest}').hex()}" if digest else ""
        return f"image-{self._token(repository)}{colon}{shown_tag}{at}{shown_digest}"

    def _uid(self, text: str) -> str:
        digits = self._hash(f"uid {text}").hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))

    def _address(self, text: str) -> str:
        return self._first_free(text, lambda found: f"10.{found[0]}.{found[1]}.{found[2]}")

    def _token(self, text: str) -> str:
        """A word that begins with a letter."""
        return self._first_free(text, _word)

    def _first_free(self, text: str, form: Callable[[bytes], str]) -> str:
        """The form of the text's hash; of another one if it is taken by another text."""
        for attempt in itertools.count():
            alias = form(self._hash(f"{attempt} {text}"))
            if self._taken.setdefault(alias, text) == text:
                return alias
        raise AssertionError

    def _hash(self, text: str) -> bytes:
        return hmac.digest(self._salt, text.encode(), "sha256")

    # ------------------------------------------------------------------ survey of the objects

    def _note(self, body: Mapping[str, Any]) -> None:
        kind, metadata, spec = body["kind"], body.get("metadata") or {}, body.get("spec") or {}
        name, labels = metadata.get("name") or "", metadata.get("labels") or {}
        self._note_labels(labels)
        if kind == "Node":
            self._prefixes.setdefault(name, "node-")
            self._keep_integers(value for key, value in labels.items() if key in self._compared)
        elif kind == "Namespace":
            self._prefixes.setdefault(name, "ns-")
        if kind in WORKLOADS:
            self._workloads.add(name)
            self._note_labels(((spec.get("template") or {}).get("metadata") or {}).get("labels") or {})
        for template in spec.get("volumeClaimTemplates") or ():
            claims = (template.get("metadata") or {}).get("name") or ""
            self._compose(claims, name)
            self._workloads.add(f"{claims}-{name}")
        for reference in metadata.get("ownerReferences") or ():
            owner = reference.get("name") or ""
            if reference.get("controller") and owner and name.startswith(f"{owner}-"):
                self._compose(owner, name.removeprefix(f"{owner}-"))
        if kind == "Pod":
            for volume in spec.get("volumes") or ():
                if volume.get("ephemeral") is not None:
                    self._compose(name, volume.get("name") or "")

    def _note_labels(self, labels: Mapping[str, str]) -> None:
        for key in self._kept_labels & labels.keys():
            self._kept.add(labels[key])
        for key in (ZONE, BETA_ZONE):
            for zone in labels.get(key, "").split(MULTIZONE_SEPARATOR):
                region, dash, rest = zone.rpartition("-")
                if dash and region and rest:
                    self._compose(region, rest)

    def _keep_integers(self, values: Iterable[str]) -> None:
        self._kept.update(value for value in values if _INTEGER.fullmatch(value))

    def _compose(self, left: str, right: str) -> None:
        """Names `LEFT-RIGHT`. Numbers at the end are ordinals of workloads, and stay."""
        if left and right and not (left in self._workloads and _ORDINAL.fullmatch(f"{left}-{right}")):
            self._composed.setdefault(f"{left}-{right}", (left, right))


def _word(found: bytes) -> str:
    rest, place = divmod(int.from_bytes(found), len(_LETTERS))
    word = _LETTERS[place]
    for _ in range(_LENGTH - 1):
        rest, place = divmod(rest, len(_ALPHABET))
        word += _ALPHABET[place]
    return word


def _comparisons(value: Any) -> Iterator[tuple[str, list[str]]]:
    """Keys of labels that a selector compares as integers, each with the values of the selector."""
    if isinstance(value, dict):
        if value.get("operator") in ("Gt", "Lt"):
            yield value.get("key") or "", value.get("values") or []
        for item in value.values():
            yield from _comparisons(item)
    elif isinstance(value, list):
        for item in value:
            yield from _comparisons(item)
