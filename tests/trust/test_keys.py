import base64

import orjson
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.trust import encrypted_keys
from kubewasp.trust.errors import KeyFormatError, PassphraseError, SignatureError
from kubewasp.trust.keys import MAX_PEM_BYTES, MAX_SIGNATURE_BYTES, PrivateKey, PublicKey
from tests.trust.signing import KINDS, key, key_of_kind

PEM, PLAIN = serialization.Encoding.PEM, serialization.NoEncryption()
MESSAGE = b"a message"


def no_passphrase() -> bytes:
    raise AssertionError("a plain key needs no passphrase")


def public_pem(private: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | dsa.DSAPrivateKey) -> bytes:
    return private.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_of_each_kind_verifies_its_signatures_and_no_others(kind: str) -> None:
    private = key_of_kind(kind)
    public = PublicKey.from_pem(private.public.pem)
    public.verify(private.sign(MESSAGE), MESSAGE)
    with pytest.raises(SignatureError, match="not signed by the key SHA256:"):
        public.verify(private.sign(MESSAGE), b"another message")
    with pytest.raises(SignatureError):
        key().public.verify(private.sign(MESSAGE), MESSAGE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("passphrase", [b"", b"secret"])
def test_a_key_of_each_kind_is_read_from_pkcs8(kind: str, passphrase: bytes) -> None:
    private = key_of_kind(kind)
    read = PrivateKey.from_pem(private.pkcs8_pem(passphrase), (lambda: passphrase) if passphrase else no_passphrase)
    assert read.public == private.public


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_of_each_kind_is_read_from_the_form_of_cosign(kind: str) -> None:
    private = key_of_kind(kind)
    read = PrivateKey.from_pem(private.cosign_pem(b"secret"), lambda: b"secret")
    assert read.public == private.public


@pytest.mark.parametrize("kind", ["P-256", "RSA"])
def test_the_older_forms_sec1_and_pkcs1_are_read(kind: str) -> None:
    private = key_of_kind(kind)
    plain = serialization.load_pem_private_key(private.pkcs8_pem(b""), None)
    pem = plain.private_bytes(PEM, serialization.PrivateFormat.TraditionalOpenSSL, PLAIN)
    assert PrivateKey.from_pem(pem, no_passphrase).public == private.public


def test_an_ec_key_of_openssl_with_parameters_is_read() -> None:
    plain = serialization.load_pem_private_key(key().pkcs8_pem(b""), None)
    pem = plain.private_bytes(PEM, serialization.PrivateFormat.TraditionalOpenSSL, PLAIN)
    parameters = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    assert PrivateKey.from_pem(parameters + pem, no_passphrase).public == key().public


@pytest.mark.parametrize("form", ["pkcs8_pem", "cosign_pem"])
@pytest.mark.parametrize("given_passphrase", [b"wrong", b""])
def test_another_passphrase_is_told(form: str, given_passphrase: bytes) -> None:
    with pytest.raises(PassphraseError, match="passphrase"):
        PrivateKey.from_pem(getattr(key(), form)(b"secret"), lambda: given_passphrase)


def test_an_empty_passphrase_is_that_of_cosign_without_one() -> None:
    assert PrivateKey.from_pem(key().cosign_pem(b""), lambda: b"").public == key().public


@pytest.mark.parametrize("kind", ["P-384", "P-521"])
def test_signatures_with_the_hash_of_a_longer_curve_verify(kind: str) -> None:
    """cosign 3 signs with the hash of the curve, older versions with SHA-256."""
    private = key_of_kind(kind)
    plain = serialization.load_pem_private_key(private.pkcs8_pem(b""), None)
    assert isinstance(plain, ec.EllipticCurvePrivateKey)
    own = hashes.SHA384() if kind == "P-384" else hashes.SHA512()
    for algorithm in (hashes.SHA256(), own):
        private.public.verify(plain.sign(MESSAGE, ec.ECDSA(algorithm)), MESSAGE)


@pytest.mark.parametrize(
    "private",
    [ec.generate_private_key(ec.SECP256K1()), rsa.generate_private_key(65537, 1024), dsa.generate_private_key(2048)],
    ids=["secp256k1", "rsa-1024", "dsa"],
)
def test_weak_and_other_keys_are_refused(private: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    with pytest.raises(KeyFormatError, match="allowed are ECDSA"):
        PublicKey.from_pem(public_pem(private))
    with pytest.raises(KeyFormatError, match="allowed are ECDSA"):
        PrivateKey.from_pem(private.private_bytes(PEM, serialization.PrivateFormat.PKCS8, PLAIN), no_passphrase)


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        (b"", "no key in PEM"),
        (b"ssh-ed25519 AAAA", "no key in PEM"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "not a public key"),
        (key().public.pem * 2, "2 keys, expected one"),
        (key().pkcs8_pem(b""), "a private key: use the public one"),
        (b" " * (MAX_PEM_BYTES + 1), "larger than any key"),
    ],
)
def test_other_files_are_no_public_keys(pem: bytes, problem: str) -> None:
    with pytest.raises(KeyFormatError, match=problem):
        PublicKey.from_pem(pem)


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        (key().public.pem, "a public key: use the private one"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "unknown kind"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a private key"),
    ],
)
def test_other_files_are_no_private_keys(pem: bytes, problem: str) -> None:
    with pytest.raises(KeyFormatError, match=problem):
        PrivateKey.from_pem(pem, no_passphrase)


def cosign_document(**changes: object) -> bytes:
    kdf = {"name": "scrypt", "params": {"N": 2, "r": 1, "p": 1}, "salt": ""}
    document = {"kdf": kdf, "cipher": {"name": "nacl/secretbox", "nonce": ""}, "ciphertext": ""}
    return orjson.dumps(document | changes)


@pytest.mark.parametrize(
    "params",
    [
        {"N": 2**26, "r": 8, "p": 1},
        {"N": 2**16, "r": 8, "p": 2**20},
        {"N": 3, "r": 1, "p": 1},
        {"N": 2, "r": 2**31, "p": 1},
    ],
)
def test_an_encrypted_key_cannot_ask_for_more_memory_or_time(params: dict[str, int]) -> None:
    document = cosign_document(kdf={"name": "scrypt", "params": params, "salt": ""})
    with pytest.raises(KeyFormatError, match="out of bounds"):
        encrypted_keys.decrypt(document, b"secret")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        cosign_document(kdf=None),
        cosign_document(ciphertext=1),
        cosign_document(ciphertext="%"),
        cosign_document(kdf={"name": "scrypt", "params": {"N": True, "r": 1, "p": 1}, "salt": ""}),
        b" " * (encrypted_keys.MAX_BYTES + 1),
    ],
)
def test_an_incomplete_encrypted_key_is_refused(document: bytes) -> None:
    with pytest.raises(KeyFormatError, match="not complete"):
        encrypted_keys.decrypt(document, b"secret")


def test_an_unknown_cipher_is_refused() -> None:
    document = cosign_document(cipher={"name": "rot13", "nonce": ""})
    with pytest.raises(KeyFormatError, match="another way"):
        encrypted_keys.decrypt(document, b"secret")


def test_no_text_form_of_a_key_contains_it() -> None:
    plain = base64.b64encode(key().pkcs8_pem(b"")).decode()
    assert "ECDSA P-256" in repr(key())
    assert len(repr(key())) < 100
    assert repr(key()) not in plain


def test_a_signature_longer_than_any_is_refused_before_it_is_read() -> None:
    with pytest.raises(SignatureError, match="longer"):
        key().public.verify(bytes(MAX_SIGNATURE_BYTES + 1), MESSAGE)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_key_or_one_error(pem: bytes) -> None:
    for read in (PublicKey.from_pem, lambda given: PrivateKey.from_pem(given, lambda: b"secret")):
        with pytest.raises(KeyFormatError):
            read(pem)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(is_message=st.booleans(), place=st.integers(0, 10_000), change=st.integers(1, 255))
def test_a_changed_byte_of_a_signature_or_message_is_noticed(
    kind: str, is_message: bool, place: int, change: int
) -> None:
    private = key_of_kind(kind)
    signature, message = bytearray(private.sign(MESSAGE)), bytearray(MESSAGE)
    changed = message if is_message else signature
    changed[place % len(changed)] ^= change
    with pytest.raises(SignatureError):
        private.public.verify(bytes(signature), bytes(message))
