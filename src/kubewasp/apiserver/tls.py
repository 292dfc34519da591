"""TLS contexts for the API server: trusted authorities and the client certificate."""

from __future__ import annotations

import ssl
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.apiserver.errors import ApiConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Pem:
    """Certificates or a key in PEM form. `origin` names file and field in error texts; inline data has no `path`."""

    origin: str
    content: bytes = field(repr=False)
    path: Path | None = None


def tls_context(
    authority: Pem | None, certificate: Pem | None = None, key: Pem | None = None, *, verify: bool = True
) -> ssl.SSLContext:
    """Client context that trusts the authority, or those of the system without one."""
    context = _trusting(authority)
    # Go does not enforce every extension of RFC 5280, and the CAs of many clusters lack some.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_certificate(context, certificate, key)
    return context


def _trusting(authority: Pem | None) -> ssl.SSLContext:
    try:
        if authority is None:
            return ssl.create_default_context()
        if authority.path is not None:
            return ssl.create_default_context(cafile=authority.path)
        return ssl.create_default_context(cadata=authority.content.decode("ascii", "ignore"))
    except (ssl.SSLError, OSError) as error:
        origin = authority.origin if authority is not None else "the certificate authorities of this system"
        raise ApiConfigError(f"{origin} cannot be used: {_problem(error)}") from None


def _load_certificate(context: ssl.SSLContext, certificate: Pem, key: Pem | None) -> None:
    try:
        with ExitStack() as files:
            chain = files.enter_context(_as_file(certificate))
            key_file = files.enter_context(_as_file(key)) if key is not None else None
            # The empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(chain, key_file, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        origin = f"{certificate.origin} and its key" if key is not None else certificate.origin
        raise ApiConfigError(f"{origin} cannot be used: {_problem(error)}") from None


@contextmanager
def _as_file(pem: Pem) -> Iterator[Path]:
    """Path of the PEM data: OpenSSL reads client certificates from files only."""
    if pem.path is not None:
        yield pem.path
        return
    with tempfile.NamedTemporaryFile(prefix="kubewasp-") as file:  # mode 0600
        file.write(pem.content)
        file.flush()
        yield Path(file.name)


def _problem(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not a valid PEM file ({error.reason or 'unknown format'})"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "the key is protected by a password"
