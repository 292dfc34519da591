import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.trust.secretbox import MAX_BYTES, SecretBoxError, open_box, seal

# The example of "Cryptography in NaCl" (Bernstein, 2009), sections 8 to 10.
KEY = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
NONCE = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
BOX = bytes.fromhex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b"
    "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da"
    "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"
)


def test_the_published_example_opens() -> None:
    message = open_box(BOX, NONCE, KEY)
    assert message.startswith(bytes.fromhex("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc"))
    assert seal(message, NONCE, KEY) == BOX


@settings(max_examples=30)
@given(st.binary(max_size=300), st.binary(min_size=24, max_size=24), st.binary(min_size=32, max_size=32))
def test_a_sealed_message_opens_with_its_key_only(message: bytes, nonce: bytes, key: bytes) -> None:
    box = seal(message, nonce, key)
    assert open_box(box, nonce, key) == message
    with pytest.raises(SecretBoxError):
        open_box(box, nonce, bytes([key[0] ^ 1]) + key[1:])


@settings(max_examples=50)
@given(st.integers(0, len(BOX) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    changed = bytearray(BOX)
    changed[place] ^= change
    with pytest.raises(SecretBoxError):
        open_box(bytes(changed), NONCE, KEY)


@pytest.mark.parametrize(
    ("message", "nonce", "key"), [(b"", b"short", KEY), (b"", NONCE, b"short"), (bytes(MAX_BYTES + 1), NONCE, KEY)]
)
def test_wrong_sizes_are_refused(message: bytes, nonce: bytes, key: bytes) -> None:
    with pytest.raises(SecretBoxError):
        seal(message, nonce, key)


def test_a_box_shorter_than_its_tag_is_refused() -> None:
    with pytest.raises(SecretBoxError):
        open_box(BOX[:10], NONCE, KEY)
