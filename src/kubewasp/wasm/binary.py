"""Wasm binaries: sections, producers and function types, and conversion of the start section.

Names of imports and exports come from the runtime, once the module is compiled. Types of functions do not: its C
interface ends the process for a vector type.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.k8s.varint import leb128

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\0asm"
_CORE, _COMPONENT = b"\x01\0\0\0", b"\x0d\0\x01\0"
_CUSTOM, _TYPE, _IMPORT, _FUNCTION, _EXPORT, _START = 0, 1, 2, 3, 7, 8
_FUNCTION_TYPE = 0x60
_LARGEST_PRODUCERS = 64 * 1024
MEMORY_KIND = 2  # of an import or export
_VALUE_TYPES = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64", 0x7B: "v128", 0x70: "funcref", 0x6F: "externref"}

# Export name of a start section's function; see `without_start`.
START_SECTION_EXPORT = "kubewasp:start-section"


class BinaryError(ValueError):
    """The binary cannot be read; the text has the cause."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its id, the offset of its header, its content."""

    number: int
    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Signatures:
    """Types of the imported functions, in order, and of the exported ones, such as `(i32, i32) -> (i32)`."""

    imported: tuple[str, ...]
    exported: dict[str, str]


def is_component(wasm: bytes) -> bool:
    return wasm[:4] == MAGIC and wasm[4:8] == _COMPONENT


def check_header(wasm: bytes) -> None:
    if not wasm:
        raise BinaryError("this is not WebAssembly: the file is empty")
    if wasm[:4] != MAGIC:
        raise BinaryError("this is not WebAssembly: the file does not start with \\0asm")
    if len(wasm) < 8:
        raise BinaryError("the file is truncated: it ends within its 8-byte header")
    if wasm[4:8] not in (_CORE, _COMPONENT):
        raise BinaryError(f"unknown WebAssembly version {wasm[4:8].hex()}")


def sections(wasm: bytes) -> Iterator[Section]:
    at = 8
    while at < len(wasm):
        number = wasm[at]
        size, start = leb_at(wasm, at + 1)
        if start + size > len(wasm):
            left = len(wasm) - start
            raise BinaryError(f"the file is truncated: section {number} at byte {at} has {left} of {size} bytes")
        yield Section(number, at, wasm[start : start + size])
        at = start + size


def has_start(wasm: bytes) -> bool:
    """Whether a module has a start section: code that runs while an instance is made."""
    return any(section.number == _START for section in sections(wasm))


def producers(wasm: bytes) -> dict[str, list[str]]:
    """The `producers` section, e.g. {"language": ["Go"], "processed-by": ["TinyGo 0.39.0"]}.

    Unreadable parts are skipped, and sections of unusual size: custom sections never make a module invalid.
    """
    found: dict[str, list[str]] = {}
    for section in sections(wasm):
        if section.number == _CUSTOM and len(section.content) <= _LARGEST_PRODUCERS:
            with suppress(BinaryError):
                _add_producers(section.content, found)
    return found


def _add_producers(content: bytes, found: dict[str, list[str]]) -> None:
    name, at = name_at(content, 0)
    if name != "producers":
        return
    count, at = leb_at(content, at)
    for _ in range(count):
        field, at = name_at(content, at)
        values, at = leb_at(content, at)
        for _ in range(values):
            tool, at = name_at(content, at)
            release, at = name_at(content, at)
            found.setdefault(field, []).append(f"{tool} {release}".strip())


def signatures(wasm: bytes) -> Signatures:
    """Types of the functions of a valid module whose imports are all functions."""
    contents = {section.number: section.content for section in sections(wasm)}
    types = _function_types(contents.get(_TYPE, b"\0"))
    imported = _imported_functions(contents.get(_IMPORT, b"\0"))
    defined, _ = _numbers(contents.get(_FUNCTION, b"\0"), 0)
    functions = [*imported, *defined]
    exported = _exported_functions(contents.get(_EXPORT, b"\0"))
    try:
        return Signatures(
            tuple(types[kind] for kind in imported),
            {name: types[functions[number]] for name, number in exported.items()},
        )
    except IndexError:
        raise BinaryError("a function has no type") from None


def _function_types(content: bytes) -> list[str]:
    count, at = leb_at(content, 0)
    found = []
    for _ in range(count):
        form, at = leb_at(content, at)
        if form != _FUNCTION_TYPE:
            raise BinaryError(f"the type section has a type {form:#x} that is no function")
        parameters, at = _value_types(content, at)
        results, at = _value_types(content, at)
        found.append(f"({parameters}) -> ({results})")
    return found


def _value_types(content: bytes, at: int) -> tuple[str, int]:
    numbers, at = _numbers(content, at)
    try:
        return ", ".join(_VALUE_TYPES[number] for number in numbers), at
    except KeyError as unknown:
        raise BinaryError(f"the type section has an unknown type {unknown}") from None


def _imported_functions(content: bytes) -> list[int]:
    """The numbers of their types."""
    count, at = leb_at(content, 0)
    found = []
    for _ in range(count):
        _, at = name_at(content, at)
        _, at = name_at(content, at)
        kind, at = leb_at(content, at)
        if kind != 0:
            raise BinaryError("something else than a function is imported")
        number, at = leb_at(content, at)
        found.append(number)
    return found


def _exported_functions(content: bytes) -> dict[str, int]:
    count, at = leb_at(content, 0)
    found = {}
    for _ in range(count):
        name, at = name_at(content, at)
        kind, at = leb_at(content, at)
        number, at = leb_at(content, at)
        if kind == 0:
            found[name] = number
    return found


def _numbers(content: bytes, at: int) -> tuple[list[int], int]:
    count, at = leb_at(content, at)
    found = []
    for _ in range(count):
        number, at = leb_at(content, at)
        found.append(number)
    return found, at


def without_start(wasm: bytes) -> bytes:
    """The module with its start section made into an export, if it has one.

    A start section runs while the module is instantiated, when the adapter does not exist yet; as an export it can be
    called right afterwards, with all host functions there.
    """
    start = next((section for section in sections(wasm) if section.number == _START), None)
    if start is None:
        return wasm
    function, end = leb_at(start.content, 0)
    if end != len(start.content):
        raise BinaryError("the start section is malformed")
    entry = text_bytes(START_SECTION_EXPORT) + b"\0" + leb128(function)
    parts, exported = [wasm[:8]], False
    for section in sections(wasm):
        content = section.content
        if section.number == _START:
            if not exported:
                parts.append(section_bytes(_EXPORT, leb128(1) + entry))
            continue
        if section.number == _EXPORT:
            count, at = leb_at(content, 0)
            content, exported = leb128(count + 1) + content[at:] + entry, True
        parts.append(section_bytes(section.number, content))
    return b"".join(parts)


def section_bytes(number: int, content: bytes) -> bytes:
    return bytes([number]) + leb128(len(content)) + content


def text_bytes(value: str) -> bytes:
    encoded = value.encode()
    return leb128(len(encoded)) + encoded


def leb_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise BinaryError(f"the file is truncated or damaged at byte {at}")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def name_at(data: bytes, at: int) -> tuple[str, int]:
    length, at = leb_at(data, at)
    if at + length > len(data):
        raise BinaryError("a name runs over the end of its section")
    return data[at : at + length].decode("utf-8", "replace"), at + length
