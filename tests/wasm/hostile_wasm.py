"""Small binaries that are expensive to compile."""

from kubewasp.k8s.varint import leb128


def _section(number: int, *items: bytes) -> bytes:
    content = leb128(len(items)) + b"".join(items)
    return bytes([number]) + leb128(len(content)) + content


def nested_loops(size: int) -> bytes:
    """Loops in loops, each with hundreds of parameters: time and memory of a compiler are cubic in the size."""
    parameters = size // 10
    depth = (size - 5 * parameters - 60) // 7
    many = leb128(parameters) + b"\x7f" * parameters
    body = b"\0" + b"\x20\0" * parameters + b"\x03\x01" * depth + b"\x20\0\x0d\0\x0b" * depth
    body += b"\x1a" * (parameters - 1) + b"\x0b"
    types = _section(1, b"\x60\x01\x7f\x01\x7f", b"\x60" + many + many)
    return b"\0asm\1\0\0\0" + types + _section(3, b"\0") + _section(10, leb128(len(body)) + body)
