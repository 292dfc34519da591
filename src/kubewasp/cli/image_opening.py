"""Opening of images for commands: registries with the user's credentials and the local store, layouts, archives."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from kubewasp.cli.progress import Progress
from kubewasp.images.image_address import ImageAddress
from kubewasp.images.image_files import open_file
from kubewasp.images.wasm_image import read_image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.images.wasm_image import WasmImage
    from kubewasp.registry.pulling import Puller
    from kubewasp.registry.references import Reference


@contextmanager
def registries() -> Iterator[Puller]:
    """Registries and the local store, with the settings of the user."""
    from kubewasp.wasm.source import GuestSources

    puller = GuestSources().puller
    with closing(puller.client):
        yield puller


def open_image(text: str) -> WasmImage:
    """The image at an address. Of a registry, all of it is in the local store afterwards."""
    address = ImageAddress.parse(text)
    if address.reference is None:
        source, reference = open_file(address)
        return read_image(source, reference, str(address))
    with Progress() as progress, registries() as puller:
        progress.phase(f"pulling {address.reference}")
        return _pulled(puller, address.reference)


def _pulled(puller: Puller, named: Reference) -> WasmImage:
    from kubewasp.images.registry_images import RegistryImages

    source = RegistryImages(puller)
    descriptor = source.resolve(named)
    reference = named.at(descriptor.digest)
    image = read_image(source, reference, str(reference))
    source.remember(named, descriptor)
    return image
