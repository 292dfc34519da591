"""TLS towards the API server: whom to trust, and who we are."""

from __future__ import annotations

import ssl
from pathlib import Path

from kubewasp.apiserver.errors import ApiConfigError


def tls_context(*, ca_file: str | None, cert_file: str | None, key_file: str | None, verify: bool) -> ssl.SSLContext:
    """Trusts the CA of the file, or those of the system if there is none."""
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (ssl.SSLError, OSError) as error:
        raise ApiConfigError(f"the certificate authority of the API server cannot be used: {_problem(error)}") from None
    # Go does not insist on every extension of RFC 5280, and the CAs of many clusters lack some.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert_file:
        try:
            # With a password at hand OpenSSL does not ask for one on the terminal.
            context.load_cert_chain(cert_file, key_file, password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise ApiConfigError(f"the client certificate and its key cannot be used: {_problem(error)}") from None
    return context


def material(*files: str | None) -> tuple[bytes, ...]:
    """The contents of the files: a context is made anew when they changed, and only then."""
    return tuple(Path(file).read_bytes() if file else b"" for file in files)


def _problem(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not a valid PEM file ({error.reason or 'unknown format'})"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "the key is protected by a password"
