"""Errors of keys and signatures."""

from __future__ import annotations

from kubewasp.errors import KubewaspError


class KeyFormatError(KubewaspError):
    """A key that cannot be used: not PEM, of another kind, too weak, or with another passphrase."""


class PassphraseError(KeyFormatError):
    """An encrypted private key and no passphrase, or not the right one."""


class SignatureError(KubewaspError):
    """A signature that does not hold, or a document that cannot be read as one. The text is the cause."""


class TrustError(KubewaspError):
    """A guest that the trust policy refuses, with the expected and the found signatures."""
