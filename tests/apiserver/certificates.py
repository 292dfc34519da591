"""Certificate authority for tests."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

_PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Signed:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    def __init__(self, name: str = "test CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM)

    def sign(self, name: str) -> Signed:
        """Certificate for a client of that name, or for a server of that name on loopback."""
        key = ec.generate_private_key(ec.SECP256R1())
        loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        names = x509.SubjectAlternativeName([x509.DNSName(name), loopback])
        builder = _builder(_name(name), self._name, key.public_key()).add_extension(names, critical=False)
        plain = serialization.NoEncryption()
        return Signed(
            builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM),
            key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, plain),
        )

    def server_context(self, folder: Path, *, clients: bool = False) -> ssl.SSLContext:
        """Context of a server on loopback; with `clients`, a client certificate is required."""
        signed = self.sign("kubernetes")
        (folder / "server.crt").write_bytes(signed.certificate)
        (folder / "server.key").write_bytes(signed.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        if clients:
            context.load_verify_locations(cadata=self.certificate.decode())
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )
