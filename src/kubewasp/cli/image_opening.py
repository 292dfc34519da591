"""Opening of images for commands: registries and the local store, layouts, archives; checked by the trust policy.

The order is that of guests: what the address means, its signatures, and then the content by its digest.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.cli.progress import Progress
from kubewasp.images.image_address import ImageAddress
from kubewasp.images.image_files import open_file
from kubewasp.images.wasm_image import read_image

if TYPE_CHECKING:
    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.images.wasm_image import WasmImage
    from kubewasp.registry.artifact_source import ArtifactSource
    from kubewasp.registry.references import Reference
    from kubewasp.trust.policy import TrustPolicy


@dataclass(frozen=True, slots=True)
class OpenedImage:
    """An image, and the names of those whose signatures were checked."""

    image: WasmImage
    signers: tuple[str, ...] = ()


def open_image(text: str, access: RegistryAccess) -> OpenedImage:
    """The image at an address. Of a registry, all of it is in the local store afterwards."""
    address = ImageAddress.parse(text)
    if address.reference is not None:
        return _pulled(address.reference, access)
    _, trust = access.settings()
    source, reference = open_file(address)
    at = reference.at(source.resolve(reference).digest)
    return _read(source, at, trust, shown=str(address), place=str(address.path))


def _pulled(named: Reference, access: RegistryAccess) -> OpenedImage:
    from kubewasp.images.registry_images import RegistryImages

    _, trust = access.settings()
    puller = access.puller(named)
    with Progress() as progress, closing(puller.client):
        progress.phase(f"pulling {named}", is_bytes=True)
        source = RegistryImages(puller, progress)
        descriptor = source.resolve(named)
        at = named.at(descriptor.digest)
        opened = _read(source, at, trust, shown=str(at), place=str(at))
        source.remember(named, descriptor)
    return opened


def _read(
    source: ArtifactSource, reference: Reference, trust: TrustPolicy | None, *, shown: str, place: str
) -> OpenedImage:
    signers = () if trust is None else _signers(source, reference, trust, place)
    return OpenedImage(read_image(source, reference, shown), signers)


def _signers(source: ArtifactSource, reference: Reference, trust: TrustPolicy, place: str) -> tuple[str, ...]:
    from kubewasp.registry.signature_storage import find_signatures
    from kubewasp.trust.signatures import Subject

    needed = trust.needs_signatures(place)
    evidence = find_signatures(source, reference, reference.digest) if needed else ()
    return trust.check(Subject(reference.digest, place), evidence).signers
