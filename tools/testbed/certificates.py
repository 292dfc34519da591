"""Certificate authority of a test run: created at start, valid for two days."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE: Final = timedelta(days=2)
_LEEWAY: Final = timedelta(days=2)  # for tests that set a clock back
_USAGES: Final = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; all files are in one folder."""

    def __init__(self, folder: Path, name: str = "kubewasp tests") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        signed = self._signed(self._name, self._key, authority=True)
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, groups: Sequence[str] = (), *, life: timedelta = _LIFE) -> KeyPair:
        """For a user with groups, or for a server on loopback."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(_name(name, groups), key, authority=False, life=life)
        stem = name.replace(":", "-")
        pair = KeyPair(self.folder / f"{stem}.crt", self.folder / f"{stem}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(key, pair.key)
        return pair

    def signing_key(self, name: str) -> Path:
        """A private key alone, as service-account tokens are signed with."""
        path = self.folder / f"{name}.key"
        _write_key(ec.generate_private_key(ec.SECP256R1()), path)
        return path

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, authority: bool, life: timedelta = _LIFE
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _LEEWAY)
            .not_valid_after(now + life)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(_usage(authority=authority), critical=True)
        )
        if not authority:
            here = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
            builder = builder.add_extension(x509.SubjectAlternativeName(here), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(_USAGES), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str, groups: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _write_key(key: ec.EllipticCurvePrivateKey, path: Path) -> None:
    # In the older format: the API server finds no public key in a PKCS #8 file with an elliptic curve.
    how = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(*how))
