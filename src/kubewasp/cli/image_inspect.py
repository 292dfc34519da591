"""Implementation of `kubewasp image inspect`."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.cli.image_opening import open_image
from kubewasp.cli.wasi_inspect import program_facts
from kubewasp.images.file_tree import TreeFile
from kubewasp.images.wasm_image import HANDLER
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.formats import COMPAT_VARIANT
from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.inspection import inspect_program
from kubewasp.wasi.program import load_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.images.wasm_image import WasmImage
    from kubewasp.wasi.inspection import ProgramReport


def run(text: str, access: RegistryAccess, *, form: str) -> None:
    opened = open_image(text, access)
    image = opened.image
    program = inspect_program(load_program(image.program, Capabilities(), name=image.program_path))
    if form != "table":
        output.print_document({**_report(image, program), "signers": list(opened.signers)}, form)
    else:
        signed = [("signed", ", ".join(opened.signers))] if opened.signers else []
        output.print_facts([*_facts(image, program), *signed])


def _report(image: WasmImage, program: ProgramReport) -> dict[str, Any]:
    config = image.config
    return {
        "image": image.where,
        "kind": image.kind,
        "digest": image.descriptor.digest,
        "media_type": image.descriptor.media_type,
        "os": config.os,
        "architecture": config.architecture,
        "created": config.created,
        "annotations": dict(sorted(image.manifest.annotations.items())),
        "labels": dict(sorted(config.labels.items())),
        "runtimes": _runtimes(image),
        "layers": [
            {"media_type": layer.media_type, "size_bytes": layer.size, "digest": layer.digest}
            for layer in image.manifest.layers
        ],
        "entrypoint": list(config.entrypoint),
        "command": list(config.command),
        "runs": [*image.argv, *image.default_arguments],
        "working_directory": config.working_directory,
        "environment": dict(config.environment),
        "files": [{"path": path, "size_bytes": node.size} for path, node in _files(image)],
        "program_path": image.program_path,
        "program": asdict(program),
    }


def _facts(image: WasmImage, program: ProgramReport) -> Iterator[tuple[str, str]]:
    config = image.config
    yield "image", image.where
    yield "format", image.kind
    yield "digest", image.descriptor.digest
    if image.is_container:
        yield "platform", config.platform
    yield "run as wasm by", ", ".join(_runtimes(image)) or "kubewasp alone: neither annotation nor platform say wasm"
    for name, value in sorted(image.manifest.annotations.items()):
        yield "annotation", f"{name}={value}"
    for name, value in sorted(config.labels.items()):
        yield "label", f"{name}={value}"
    sizes = [format_size(layer.size) for layer in image.manifest.layers]
    yield "layers", f"{len(sizes)} ({', '.join(sizes)})"
    yield "command", shlex.join([*image.argv, *image.default_arguments])
    if config.working_directory:
        yield "working directory", config.working_directory
    for name, value in sorted(config.environment.items()):
        yield "variable", f"{name}={value}"
    files = [(path, node) for path, node in _files(image) if path != image.program_path]
    if files:
        yield "files", f"{len(files)} ({format_size(sum(node.size for _, node in files))}) beside the program"
    grants = [("--image-env", "variables", config.environment), ("--image-files", "files", files)]
    for option, what, wanted in grants:
        if wanted:
            yield "grant", f"{option} ({what} of the image; default: none)"
    yield from program_facts(program)


def _runtimes(image: WasmImage) -> list[str]:
    """Container runtimes that take it for a wasm program, and by what."""
    notes = image.manifest.annotations
    found = []
    if notes.get(COMPAT_VARIANT) in ("compat", "compat-smart") or notes.get(HANDLER) in ("wasm", "wasm-smart"):
        found.append("crun and podman (annotation)")
    if not image.is_container:
        found.append("containerd shims (wasm layer)")
    elif image.config.is_wasm:
        found.append("containerd shims (architecture)")
    return found


def _files(image: WasmImage) -> list[tuple[str, TreeFile]]:
    found = [(path, node) for path, node in image.tree.walk() if isinstance(node, TreeFile)]
    return sorted(found, key=lambda item: item[0])
