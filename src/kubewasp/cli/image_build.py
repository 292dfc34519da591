"""Implementation of `kubewasp image build`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import typer

from kubewasp.cli import output
from kubewasp.cli.progress import Progress
from kubewasp.cli.registry_options import source_date
from kubewasp.images.added_files import read_added
from kubewasp.images.building import ImagePlan, build_image
from kubewasp.images.image_address import ImageAddress
from kubewasp.images.image_files import write_file
from kubewasp.input_file import StandardInput
from kubewasp.k8s.quantity import format_size
from kubewasp.k8s.timestamps import in_seconds
from kubewasp.registry.copying import push_artifact
from kubewasp.registry.formats import checked_wasm, wasm_artifact
from kubewasp.wasm.source import MAX_BYTES, fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.registry.formats import Artifact


@dataclass(frozen=True, slots=True)
class Wishes:
    """Options of the command."""

    addresses: tuple[str, ...]
    command: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    added: tuple[str, ...]
    is_artifact: bool


def run(file: str | StandardInput, wishes: Wishes, access: RegistryAccess, *, form: str) -> None:
    addresses = [ImageAddress.parse(text) for text in wishes.addresses]
    _check(wishes)
    wasm = checked_wasm(fetch(file, max_bytes=MAX_BYTES), str(file))
    artifact = _artifact(file, wasm, wishes) if wishes.is_artifact else _image(file, wasm, wishes)
    for address in addresses:
        _store(address, artifact, access)
    report = {
        "images": [str(address) for address in addresses],
        "kind": "wasm artifact" if wishes.is_artifact else "container image",
        "digest": artifact.descriptor.digest,
        "size_bytes": sum(map(len, artifact.blobs.values())),
        "program_bytes": len(wasm),
    }
    if form != "table":
        output.print_document(report, form)
        return
    facts = [("image", str(address)) for address in addresses]
    facts += [("kind", str(report["kind"])), ("digest", artifact.descriptor.digest)]
    output.print_facts([*facts, ("size", format_size(sum(map(len, artifact.blobs.values()))))])


def _check(wishes: Wishes) -> None:
    if not wishes.is_artifact:
        return
    given = {
        "--cmd": wishes.command,
        "--workdir": wishes.working_directory,
        "--env": wishes.environment,
        "--label": wishes.labels,
        "--add": wishes.added,
    }
    for option, value in given.items():
        if value:
            raise typer.BadParameter(f"{option} is for images: an artifact holds the program alone")


def _image(file: str | StandardInput, wasm: bytes, wishes: Wishes) -> Artifact:
    return build_image(
        ImagePlan(
            program=wasm,
            program_name=_name(file),
            command=wishes.command,
            working_directory=wishes.working_directory,
            environment=wishes.environment,
            labels=wishes.labels,
            annotations=wishes.annotations,
            files=read_added(wishes.added),
            created=source_date(),
        )
    )


def _artifact(file: str | StandardInput, wasm: bytes, wishes: Wishes) -> Artifact:
    return wasm_artifact(wasm, file_name=_name(file), annotations=wishes.annotations, created=in_seconds(source_date()))


def _name(file: str | StandardInput) -> str:
    """The name of the file in the image; always with the ending of a binary."""
    if isinstance(file, StandardInput):
        return "program.wasm"
    name = PurePath(file.partition("?")[0].rstrip("/")).name.removesuffix(".gz")
    stem = name.removesuffix(".wasm").removesuffix(".wat")
    return f"{stem or 'program'}.wasm"


def _store(address: ImageAddress, artifact: Artifact, access: RegistryAccess) -> None:
    if address.reference is None:
        write_file(address, artifact)
        return
    size = sum(map(len, artifact.blobs.values()))
    with Progress() as progress, closing(access.client(address.reference)) as client:
        progress.phase(f"pushing {address.reference}", size, is_bytes=True)
        push_artifact(client, address.reference, artifact, progress)
