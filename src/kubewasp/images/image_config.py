"""Image configuration: platform, entrypoint, command, variables, and the digests of the unpacked layers."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.images.errors import ImageError
from kubewasp.k8s.errors import described, quoted
from kubewasp.registry.oci_manifests import MAX_BYTES, read_object
from kubewasp.registry.references import is_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

# The platform of Docker's and buildah's `--platform wasi/wasm`.
OS: Final = "wasi"
ARCHITECTURE: Final = "wasm"
_MAX_ITEMS: Final = 10_000
_MAX_TEXT: Final = 128 << 10  # of one argument, as on Linux
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """What an image says of itself. Paths, arguments and variables are wishes: nobody has granted them."""

    architecture: str = ARCHITECTURE
    os: str = OS
    created: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    working_directory: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    diff_ids: tuple[str, ...] = ()

    @property
    def platform(self) -> str:
        return f"{self.os or '?'}/{self.architecture or '?'}"

    @property
    def is_wasm(self) -> bool:
        """Whether container runtimes take the image for a wasm program by its platform."""
        return self.architecture == ARCHITECTURE

    @classmethod
    def read(cls, content: bytes, source: str) -> ImageConfig:
        """The configuration in untrusted content."""
        document = read_object(content, source, max_bytes=MAX_BYTES)
        settings = _object(document, "config", source)
        rootfs = _object(document, "rootfs", source)
        diff_ids = _texts(rootfs, "diff_ids", f"{source}: rootfs")
        if not all(map(is_digest, diff_ids)):
            raise ImageError(f"{source}: rootfs.diff_ids: expected digests, sha256: and 64 hexadecimal digits")
        inner = f"{source}: config"
        return cls(
            architecture=_text(document, "architecture", source),
            os=_text(document, "os", source),
            created=_text(document, "created", source),
            entrypoint=_texts(settings, "Entrypoint", inner),
            command=_texts(settings, "Cmd", inner),
            working_directory=_text(settings, "WorkingDir", inner),
            environment=_variables(_texts(settings, "Env", inner), inner),
            labels=_mapping(settings, "Labels", inner),
            diff_ids=diff_ids,
        )

    def write(self) -> bytes:
        """Canonical bytes: the same configuration has the same digest always."""
        settings: dict[str, Any] = {
            "Env": [f"{name}={value}" for name, value in sorted(self.environment.items())],
            "Entrypoint": list(self.entrypoint),
            "Cmd": list(self.command),
            "WorkingDir": self.working_directory,
            "Labels": dict(sorted(self.labels.items())),
        }
        document = {
            "created": self.created,
            "architecture": self.architecture,
            "os": self.os,
            "config": {name: value for name, value in settings.items() if value},
            "rootfs": {"type": "layers", "diff_ids": list(self.diff_ids)},
            "history": [{"created": self.created, "created_by": "kubewasp image build"} for _ in self.diff_ids],
        }
        return orjson.dumps(document)


def _object(document: Mapping[str, Any], name: str, source: str) -> dict[str, Any]:
    found = document.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ImageError(f"{source}: {name}: expected an object, found {described(found)}")
    return found


def _text(document: Mapping[str, Any], name: str, source: str) -> str:
    found = document.get(name)
    if found is None:
        return ""
    if not isinstance(found, str) or len(found) > _MAX_TEXT:
        raise ImageError(f"{source}: {name}: expected a string of at most {_MAX_TEXT} characters")
    return found


def _texts(document: Mapping[str, Any], name: str, source: str) -> tuple[str, ...]:
    found = document.get(name)
    if found is None:
        return ()
    if not isinstance(found, list) or len(found) > _MAX_ITEMS:
        raise ImageError(f"{source}: {name}: expected a list of at most {_MAX_ITEMS} strings")
    for value in found:
        if not isinstance(value, str) or len(value) > _MAX_TEXT or "\0" in value:
            raise ImageError(f"{source}: {name}: expected strings without NUL, found {described(value)}")
    return tuple(found)


def _mapping(document: Mapping[str, Any], name: str, source: str) -> Mapping[str, str]:
    found = _object(document, name, source)
    for key, value in found.items():
        if not isinstance(value, str):
            raise ImageError(f"{source}: {name}: {quoted(key)}: expected a string, found {described(value)}")
    return MappingProxyType(found)


def _variables(pairs: tuple[str, ...], source: str) -> Mapping[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise ImageError(f"{source}: Env: {quoted(pair)} is not NAME=VALUE")
        found[name] = value
    return MappingProxyType(found)
