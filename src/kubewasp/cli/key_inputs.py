"""Keys on the command line: a file or `env://NAME`, and the passphrase of a private key."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import typer

from kubewasp.trust.errors import KeyFormatError, PassphraseError
from kubewasp.trust.keys import MAX_PEM_BYTES, PrivateKey, PublicKey

if TYPE_CHECKING:
    from collections.abc import Callable

PASSWORD_VARIABLES: Final = ("KUBEWASP_PASSWORD", "COSIGN_PASSWORD")
_ENVIRONMENT: Final = "env://"
_Key = TypeVar("_Key")


def public_key(given: str) -> PublicKey:
    return _named(given, lambda: PublicKey.from_pem(_content(given)))


def private_key(given: str) -> PrivateKey:
    return _named(given, lambda: PrivateKey.from_pem(_content(given), lambda: passphrase("Passphrase of the key")))


def passphrase(prompt: str, *, is_new: bool = False) -> bytes:
    """From the environment, or from a prompt on a terminal; a new one is asked for twice."""
    for name in PASSWORD_VARIABLES:
        if name in os.environ:
            return os.environb[name.encode()]
    if not sys.stdin.isatty():
        raise PassphraseError(f"needs a passphrase: set {PASSWORD_VARIABLES[0]}, or use a terminal to be asked for it")
    given: str = typer.prompt(
        prompt, hide_input=True, confirmation_prompt=is_new, default="", show_default=False, err=True
    )
    return given.encode()


def _content(given: str) -> bytes:
    if given.startswith(_ENVIRONMENT):
        name = given.removeprefix(_ENVIRONMENT)
        if name not in os.environ:
            raise KeyFormatError("no environment variable of this name")
        return os.environb[os.fsencode(name)]
    try:
        with Path(given).open("rb") as file:
            return file.read(MAX_PEM_BYTES + 1)
    except (OSError, ValueError) as error:
        raise KeyFormatError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _named(given: str, read: Callable[[], _Key]) -> _Key:
    try:
        return read()
    except PassphraseError as error:
        raise PassphraseError(f"{given}: {error}") from None
    except KeyFormatError as error:
        raise KeyFormatError(f"{given}: {error}") from None
