"""A Sigstore instance in memory: certificate authority, certificate log and transparency log, and its trusted root."""

import base64
import hashlib
import json
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubewasp.trust.bundle import MEDIA_TYPE
from kubewasp.trust.dsse import COSIGN_SIGN, IN_TOTO, SignedSubject, Statement, pae

ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
OLD_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
SCTS = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
SIGNED_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG = timedelta(days=3650)
SHORT = timedelta(minutes=5)


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def der_of(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def key_id(key: ec.EllipticCurvePublicKey) -> bytes:
    return hashlib.sha256(der_of(key)).digest()


def der_text(text: str) -> bytes:
    content = text.encode()
    size = bytes([len(content)]) if len(content) < 128 else b"\x81" + bytes([len(content)])
    return b"\x0c" + size + content


def canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Certified:
    """A signing key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


class FakeSigstore:
    """Three keys, and what they sign."""

    def __init__(self) -> None:
        self.authority = ec.generate_private_key(ec.SECP256R1())
        self.certificate_log = ec.generate_private_key(ec.SECP256R1())
        self.log = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fake-sigstore")])
        self.root = self._root()

    def trusted_root(self, path: Path) -> Path:
        """Writes the trusted root of this instance."""
        valid = {"start": "2020-01-01T00:00:00Z"}
        certificate = {"rawBytes": b64(self.root.public_bytes(serialization.Encoding.DER))}
        document = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self._log_entry(self.log, "https://log.example.com")],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "fake", "commonName": "fake-sigstore"},
                    "uri": "https://ca.example.com",
                    "certChain": {"certificates": [certificate]},
                    "validFor": valid,
                }
            ],
            "ctlogs": [self._log_entry(self.certificate_log, "https://ct.example.com")],
            "timestampAuthorities": [],
        }
        path.write_text(json.dumps(document))
        return path

    def certified(self, subject: str, issuer: str, *, old_issuer: bool = False) -> Certified:
        """A signing key whose certificate has the identity; an address of mail, or an URL."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.RFC822Name(subject) if "@" in subject and "/" not in subject else None
        extension = (
            x509.UnrecognizedExtension(OLD_ISSUER, issuer.encode())
            if old_issuer
            else x509.UnrecognizedExtension(ISSUER, der_text(issuer))
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(7)
            .not_valid_before(SIGNED_AT - SHORT)
            .not_valid_after(SIGNED_AT + SHORT)
            .add_extension(_key_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), critical=False
            )
            .add_extension(
                x509.SubjectAlternativeName([name or x509.UniformResourceIdentifier(subject)]), critical=True
            )
            .add_extension(extension, critical=False)
        )
        without = builder.sign(self.authority, hashes.SHA256())
        scts = x509.UnrecognizedExtension(SCTS, self._scts(without.tbs_certificate_bytes))
        return Certified(key, builder.add_extension(scts, critical=False).sign(self.authority, hashes.SHA256()))

    def sign_digest(self, sha256: str, by: Certified, **annotations: str) -> dict[str, Any]:
        """A bundle as `cosign sign` makes it without a key."""
        payload = Statement(COSIGN_SIGN, (SignedSubject(sha256, annotations),)).write()
        signature = by.key.sign(pae(IN_TOTO, payload), ec.ECDSA(hashes.SHA256()))
        spec = {
            "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
            "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
            "signatures": [{"signature": b64(signature), "verifier": b64(by.pem)}],
        }
        envelope = {"payload": b64(payload), "payloadType": IN_TOTO, "signatures": [{"sig": b64(signature)}]}
        return self._bundle(by, "dsse", spec) | {"dsseEnvelope": envelope}

    def sign_content(self, content: bytes, by: Certified) -> dict[str, Any]:
        """A bundle as `cosign sign-blob` makes it without a key."""
        signature = by.key.sign(content, ec.ECDSA(hashes.SHA256()))
        digest = hashlib.sha256(content)
        spec = {
            "data": {"hash": {"algorithm": "sha256", "value": digest.hexdigest()}},
            "signature": {"content": b64(signature), "publicKey": {"content": b64(by.pem)}},
        }
        message = {
            "messageDigest": {"algorithm": "SHA2_256", "digest": b64(digest.digest())},
            "signature": b64(signature),
        }
        return self._bundle(by, "hashedrekord", spec) | {"messageSignature": message}

    # ------------------------------------------------------------------ parts

    def _root(self) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self.authority.public_key())
            .serial_number(1)
            .not_valid_before(SIGNED_AT - LONG)
            .not_valid_after(SIGNED_AT + LONG)
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(_key_usage(key_cert_sign=True, crl_sign=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.authority.public_key()), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def _scts(self, tbs: bytes) -> bytes:
        """The list of timestamps of the certificate log: one, in the form of RFC 6962."""
        moment = int(SIGNED_AT.timestamp() * 1000)
        issuer = key_id(self.authority.public_key())
        entry = issuer + len(tbs).to_bytes(3, "big") + tbs
        signed = struct.pack("!BBQH", 0, 0, moment, 1) + entry + b"\0\0"
        signature = self.certificate_log.sign(signed, ec.ECDSA(hashes.SHA256()))
        sct = b"\0" + key_id(self.certificate_log.public_key()) + struct.pack("!Q", moment) + b"\0\0"
        sct += b"\x04\x03" + struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!H", len(sct)) + sct
        content = struct.pack("!H", len(listed)) + listed
        size = bytes([len(content)]) if len(content) < 128 else b"\x81" + bytes([len(content)])
        return b"\x04" + size + content

    def _bundle(self, by: Certified, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = canonical({"apiVersion": "0.0.1", "kind": kind, "spec": spec})
        log_id, moment = key_id(self.log.public_key()), int(SIGNED_AT.timestamp())
        promised = canonical({"body": b64(body), "integratedTime": moment, "logID": log_id.hex(), "logIndex": 0})
        root_hash = hashlib.sha256(b"\0" + body).digest()
        note = f"log.example.com - 1\n1\n{b64(root_hash)}\n"
        signed_note = log_id[:4] + self.log.sign(note.encode(), ec.ECDSA(hashes.SHA256()))
        entry = {
            "logIndex": "0",
            "logId": {"keyId": b64(log_id)},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": str(moment),
            "inclusionPromise": {"signedEntryTimestamp": b64(self.log.sign(promised, ec.ECDSA(hashes.SHA256())))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": b64(root_hash),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\u2014 log.example.com {b64(signed_note)}\n"},
            },
            "canonicalizedBody": b64(body),
        }
        material = {"certificate": {"rawBytes": b64(by.der)}, "tlogEntries": [entry]}
        return {"mediaType": MEDIA_TYPE, "verificationMaterial": material}

    @staticmethod
    def _log_entry(key: ec.EllipticCurvePrivateKey, url: str) -> dict[str, Any]:
        public = key.public_key()
        return {
            "baseUrl": url,
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": b64(der_of(public)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            },
            "logId": {"keyId": b64(key_id(public))},
        }


def _key_usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
