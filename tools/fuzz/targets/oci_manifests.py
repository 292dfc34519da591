"""Content of OCI registries: manifests, indexes, image configurations, layers as archives, references, challenges.

The first byte chooses the reader.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING, Final

from kubewasp.registry import formats
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.oci_manifests import IMAGE_CONFIG, Descriptor, Index, Manifest, Platform, read_document
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_answers import next_page
from kubewasp.registry.tar_archives import FileStream, members
from kubewasp.registry.tokens import challenges
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WASM: Final = b"\0asm\x01\0\0\0"
_LAYER: Final = Descriptor.of(_WASM, "application/wasm", annotations={"a": "b"})
_TAR_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_LIMIT: Final = 1 << 20
_LABEL: Final = 80
_CONFIG: Final = {"architecture": "wasm", "os": "wasi", "config": {"Entrypoint": ["/p.wasm"], "WorkingDir": "/"}}


def seeds() -> Iterable[bytes]:
    manifest = Manifest(_LAYER, (_LAYER,), artifact_type="t", subject=_LAYER, annotations={"a": "b"})
    entry = Descriptor.of(manifest.write(), manifest.media_type, platform=Platform("wasm", "wasip1"))
    yield b"m" + manifest.write()
    yield b"m" + Index((entry, _LAYER)).write()
    yield b"c" + json.dumps(_CONFIG).encode()
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        archive = _archive(form)
        yield b"t" + archive
        yield b"l" + archive
        yield b"l" + gzip.compress(archive, mtime=0)
    yield b"roci://example.com:5000/team/policy:v1@" + _LAYER.digest.encode()
    yield b'hBearer realm="https://a/b",service="c",scope="repository:d:pull", Basic realm="e"'
    yield b'h</v2/a/tags/list?n=1>; rel="next"'


def one(data: bytes) -> str:
    reader = _READERS.get(data[:1], _manifest)
    try:
        return reader(data[1:])
    except RegistryError as error:
        assert str(error).isprintable()
        return error_label(RegistryError(str(error).rpartition("registry: ")[2]))[:_LABEL]


def _manifest(data: bytes) -> str:
    document = read_document(data, "fuzz")
    assert read_document(document.write(), "fuzz") == document
    if isinstance(document, Index):
        formats.wasm_entry(document, "fuzz")
        return "index"
    return f"manifest: {formats.wasm_place(document, b'{}', 'fuzz').kind}"


def _config(data: bytes) -> str:
    manifest = Manifest(Descriptor.of(data, IMAGE_CONFIG), (Descriptor("application/x", _LAYER.digest, 1),))
    layers = (Descriptor(_TAR_LAYER, _LAYER.digest, 1),)
    place = formats.wasm_place(Manifest(manifest.config, layers), data, "fuzz")
    assert not any(part == ".." for name in place.files for part in name.split("/"))
    return f"config: {len(place.files)} files"


def _tar(data: bytes) -> str:
    found = 0
    for member in members(FileStream(io.BytesIO(data))):
        found += 1
        if member.is_file:
            assert len(member.read(_LIMIT)) == member.size
    return f"tar of {found}"


def _layer(data: bytes) -> str:
    place = formats.WasmPlace("image", (Descriptor(_TAR_LAYER, _LAYER.digest, len(data)),), ("plugin.wasm", "p.wasm"))
    return f"wasm of {len(formats.extract(place, lambda _: data, 'fuzz', _LIMIT)).bit_length()} bits"


def _reference(data: bytes) -> str:
    found = Reference.parse(data.decode("utf-8", "replace"))
    assert Reference.parse(str(found)) == found
    return f"reference: {bool(found.tag)} {bool(found.digest)}"


def _header(data: bytes) -> str:
    text = data.decode("latin-1")
    return f"header: challenges {bool(challenges([text]))}, page {bool(next_page([text], '/v2/'))}"


def _archive(form: int) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=form) as archive:
        for name, content in (("a/" * 60 + "b", b"x"), ("p.wasm", _WASM), (".wh.plugin.wasm", b"")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


_READERS: Final[dict[bytes, Callable[[bytes], str]]] = {
    b"m": _manifest,
    b"c": _config,
    b"t": _tar,
    b"l": _layer,
    b"r": _reference,
    b"h": _header,
}
