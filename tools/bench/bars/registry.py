"""Bars of registries: push and pull of a large guest, beside crane on the same registry.

Both send and receive the same blobs, uncompressed, and check their digests: crane as a process that reads and writes an
OCI layout, kubewasp as a library, and as a process for comparison. Each round has a repository of its own.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.images.image_address import ImageAddress
from kubewasp.images.image_files import write_file
from kubewasp.registry.copying import push_artifact
from kubewasp.registry.formats import wasm_artifact
from kubewasp.registry.pulling import Puller
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.registry.store import LocalStore
from tools.bench.bars.bar import Bar
from tools.testbed.registries import Olareg, crane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.registry.formats import Artifact
    from tools.testbed.registries import Tool

_SIZE: Final = 18_000_000
_ROUNDS: Final = 7
_BAR: Final = 2.0


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("starting a registry")
    with tempfile.TemporaryDirectory(prefix="kubewasp-bench-") as folder:
        scratch = Path(folder)
        with Olareg(scratch / "olareg", on_disk=True) as registry:
            theirs = crane(scratch / "crane")
            step("push and pull of an 18 MB guest")
            rounds = [_round(registry, theirs, scratch, number) for number in range(_ROUNDS)]
    library, process, other = (statistics.median(times) for times in zip(*rounds[1:], strict=True))
    ratio = statistics.median(ours / crane_time for ours, _, crane_time in rounds[1:])
    note = f"{library * 1e3:.0f} ms, crane {other * 1e3:.0f} ms, as two processes of kubewasp {process * 1e3:.0f} ms"
    yield Bar("push + pull of an 18 MB guest vs crane", ratio, "×", at_most=_BAR, note=note)


def _round(registry: Olareg, theirs: Tool, scratch: Path, number: int) -> tuple[float, float, float]:
    """Seconds of the library, of two processes, and of crane, in turn."""
    artifact = wasm_artifact(_module(), file_name="guest.wasm", annotations={})
    layout, file = scratch / f"layout-{number}", scratch / "guest.wasm"
    write_file(ImageAddress.parse(f"oci:{layout}:v1"), artifact)
    file.write_bytes(next(blob for blob in artifact.blobs.values() if blob.startswith(b"\0asm")))
    names = [f"bench/{who}-{number}:v1" for who in ("library", "process", "crane")]
    return (
        _timed(lambda: _library(registry, artifact, names[0], scratch / f"store-{number}")),
        _timed(lambda: _processes(registry, file, names[1], scratch / f"cache-{number}")),
        _timed(lambda: _crane(registry, theirs, layout, names[2])),
    )


def _library(registry: Olareg, artifact: Artifact, name: str, store: Path) -> None:
    reference = Reference.parse(registry.reference(name))
    with RegistryClient(RegistrySettings(uses_user_files=False)) as client:
        descriptor = push_artifact(client, reference, artifact)
        kept = LocalStore(store)
        assert kept.is_usable()
        assert Puller(client, kept).pull(reference.at(descriptor.digest), max_bytes=1 << 30).wasm


def _processes(registry: Olareg, file: Path, name: str, cache: Path) -> None:
    command = Path(sys.executable).parent / "kubewasp"
    own = {**os.environ, "KUBEWASP_CACHE_DIR": str(cache)}
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has byte code
    for words in (("push", "--no-inspect", str(file), registry.reference(name)), ("pull", registry.reference(name))):
        subprocess.run([command, "plugin", *words], env=own, check=True, capture_output=True)


def _crane(registry: Olareg, tool: Tool, layout: Path, name: str) -> None:
    pulled = layout.with_suffix(".pulled")
    tool("push", layout, registry.image(name))
    tool("pull", "--format=oci", registry.image(name), pulled)
    shutil.rmtree(pulled)


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _module() -> bytes:
    """A module whose only section has random bytes: no round finds a blob of another."""
    name, content = b"\x04data", os.urandom(_SIZE)
    return b"\0asm\x01\0\0\0\0" + _varint(len(name) + len(content)) + name + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
