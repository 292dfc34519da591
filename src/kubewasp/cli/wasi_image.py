"""Images for `kubewasp wasi run`: program, arguments, and what was granted of the image's variables and files."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.cli.image_opening import open_image
from kubewasp.images.extraction import extract
from kubewasp.images.image_address import is_image_address
from kubewasp.wasi.capabilities import Capabilities, CapabilityError, Preopen, plain_path

if TYPE_CHECKING:
    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.images.wasm_image import WasmImage
    from kubewasp.wasi.command import Outcome

ENV_OPTION = "--image-env"
FILES_OPTION = "--image-files"
_ROOT = "/"


@dataclass(frozen=True, slots=True)
class ImageGrants:
    """What a program gets of its image beside the arguments."""

    environment: bool = False
    files: bool = False

    def check(self, file: object) -> None:
        """CapabilityError for a grant without an image."""
        if isinstance(file, str) and is_image_address(file):
            return
        for option, given in ((ENV_OPTION, self.environment), (FILES_OPTION, self.files)):
            if given:
                raise CapabilityError(f"{option}: {file} is no image; images are oci://…, oci:…, docker-archive:…")


class RunnableImage:
    """An image to run. Granted files of the image are in a folder of this run until `remove`."""

    def __init__(self, text: str, grants: ImageGrants, access: RegistryAccess) -> None:
        self.image: WasmImage = open_image(text, access).image
        self._grants = grants
        self._folder: Path | None = None

    def remove(self) -> None:
        """Removes the extracted files; also from a signal handler."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def name(self) -> str:
        return self.image.argv[0]

    def granted(self, capabilities: Capabilities) -> Capabilities:
        """The capabilities with arguments of the image, and its variables and files as far as they are granted."""
        image = self.image
        arguments = (*image.argv[1:], *(capabilities.arguments or image.default_arguments))
        variables = dict(image.config.environment) if self._grants.environment else {}
        preopens = capabilities.preopens
        if self._grants.files:
            preopens = (*preopens, self._extracted(preopens))
        # A hint: programs in Go start in this directory. It is of no use where nothing of it is granted.
        directory = image.config.working_directory
        if directory and any(_contains(preopen.guest, directory) for preopen in preopens):
            variables["PWD"] = directory
        environment = {**variables, **capabilities.environment}
        return replace(capabilities, preopens=preopens, environment=environment, arguments=arguments)

    def notes(self, outcome: Outcome) -> list[str]:
        """Hints for a program that was denied a file which its image has."""
        if self._grants.files:
            return []
        missed = [denial.path for denial in outcome.denials if self.image.tree.find(denial.path) is not None]
        return [f"the image has {path}; {FILES_OPTION} grants its files" for path in dict.fromkeys(missed)]

    def _extracted(self, others: tuple[Preopen, ...]) -> Preopen:
        for other in others:
            if not plain_path(other.guest):
                raise CapabilityError(f"{FILES_OPTION} and --dir {other}: both are the root directory of the program")
        self._folder = Path(tempfile.mkdtemp(prefix="kubewasp-image-"))
        extract(self.image, self._folder)
        return Preopen(str(self._folder), _ROOT, read_only=True)


def _contains(guest: str, directory: str) -> bool:
    root, place = plain_path(guest), plain_path(directory)
    return not root or place == root or place.startswith(f"{root}/")
