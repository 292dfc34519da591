"""Memory of an instance, from the declarations of its binary: linear memories, tables, structures of the runtime.

The runtime limits each memory and each table, not their sum. So the numbers of memories and tables are fixed to those
of the binary, and each gets a share of the limit (docs/rationale.md, "One memory limit for everything").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.wasm import binary
from kubewasp.wasm.binary import BinaryError
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wasmtime import Store

# Imports and exports of a module or component. Real guests have dozens; parts of a component have thousands.
MAX_IMPORTS: Final = 1000
MAX_EXPORTS: Final = 10_000
# Bytes of function types of a core module: they are read in Python, at a few MB per second. A large Go guest has 2 KB.
MAX_TYPES: Final = 1024 * 1024
# Core instances of a component.
MAX_INSTANCES: Final = 100
# Tables and structures up to this size are overhead of an instance, not its memory.
UNCOUNTED: Final = 64 * 1024
# Bytes in the runtime.
_ELEMENT, _GLOBAL, _FUNCTION = 8, 16, 32
_TYPES, _IMPORT, _FUNCTIONS, _TABLE, _MEMORY, _GLOBALS, _EXPORT = 1, 2, 3, 4, 5, 6, 7
_CORE_MODULE, _CORE_INSTANCE, _NESTED, _COMPONENT_IMPORT, _COMPONENT_EXPORT = 1, 2, 4, 10, 11
_DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class Extent:
    """Declared size of a memory in bytes, or of a table in elements; `maximum` None: unlimited."""

    minimum: int
    maximum: int | None

    def up_to(self, limit: int) -> int:
        return limit if self.maximum is None else min(self.maximum, limit)


@dataclass(frozen=True, slots=True)
class Footprint:
    """Declarations of a core module, or of all core modules of a component."""

    memories: tuple[Extent, ...] = ()
    tables: tuple[Extent, ...] = ()
    structures: int = 0
    instances: int = 1

    @property
    def table_elements(self) -> int:
        """Largest size of a table: tables grow within a half of the uncounted room only."""
        room = UNCOUNTED // 2 // _ELEMENT // max(len(self.tables), 1)
        return max([room, *(table.minimum for table in self.tables)])

    @property
    def fixed(self) -> int:
        """Bytes of tables and structures, at most."""
        elements = self.table_elements
        return self.structures + _ELEMENT * sum(table.up_to(elements) for table in self.tables)

    @property
    def counted(self) -> int:
        """The part of `fixed` that counts as memory of the guest."""
        return max(self.fixed - UNCOUNTED, 0)

    @property
    def initial(self) -> int:
        """Bytes of a new instance."""
        tables = _ELEMENT * sum(table.minimum for table in self.tables)
        return sum(memory.minimum for memory in self.memories) + tables + self.structures


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a store, for one instance and the host's own modules beside it."""

    memory_size: int
    table_elements: int
    instances: int
    tables: int
    memories: int
    counted: int

    @property
    def of_store(self) -> tuple[int, int, int, int, int]:
        """As the runtime takes them."""
        return self.memory_size, self.table_elements, self.instances, self.tables, self.memories

    def apply(self, store: Store, *, memory_size: int | None = None) -> None:
        store.set_limits(
            memory_size=self.memory_size if memory_size is None else memory_size,
            table_elements=self.table_elements,
            instances=self.instances,
            tables=self.tables,
            memories=self.memories,
        )


@dataclass(frozen=True, slots=True)
class HostModules:
    """The host's own modules in a guest's store."""

    instances: int = 0
    tables: int = 0
    memories: int = 0
    table_elements: int = 0


NO_HOST_MODULES: Final = HostModules()


def bounds(footprint: Footprint, limit: int, host: HostModules = NO_HOST_MODULES, option: str = "") -> Bounds:
    """Bounds that keep memories, tables and structures within the limit; GuestLoadError if they begin above it.

    `option` is the setting to raise, for the error.
    """
    left = limit - footprint.counted
    largest = max((memory.minimum for memory in footprint.memories), default=0)
    size = _share(left, footprint.memories)
    if left < 0 or size < largest:
        raise GuestLoadError(_too_large(footprint, limit, option or "limits.memory"))
    return Bounds(
        memory_size=size,
        table_elements=max(footprint.table_elements, host.table_elements),
        instances=footprint.instances + host.instances,
        tables=len(footprint.tables) + host.tables,
        memories=len(footprint.memories) + host.memories,
        counted=footprint.counted,
    )


def _share(left: int, memories: Sequence[Extent]) -> int:
    """Largest size that all memories may have at the same time."""
    growing = list(memories)
    while growing:
        size = left // len(growing)
        ended = [memory for memory in growing if memory.maximum is not None and memory.maximum < size]
        if not ended:
            return size
        left -= sum(memory.maximum or 0 for memory in ended)
        growing = [memory for memory in growing if memory not in ended]
    return max([left, *(memory.maximum or 0 for memory in memories)])


def _too_large(footprint: Footprint, limit: int, option: str) -> str:
    parts = [f"{len(footprint.memories)} memories", f"{len(footprint.tables)} tables"]
    shared = f"; {len(footprint.memories)} memories share the limit" if len(footprint.memories) > 1 else ""
    return (
        f"wasm: guest starts with {footprint.initial} bytes in {' and '.join(parts)}, over the limit of {limit}"
        f"{shared}; raise {option} or build it with less"
    )


def read(wasm: bytes) -> Footprint:
    """The footprint of a valid module or component; GuestLoadError if there is too much of something."""
    try:
        if binary.is_component(wasm):
            return _component(wasm)
        _check_count("imports", _count(wasm, _IMPORT), MAX_IMPORTS)
        _check_count("exports", _count(wasm, _EXPORT), MAX_EXPORTS)
        for section in binary.sections(wasm):
            if section.number == _TYPES:
                _check_count("bytes of function types", len(section.content), MAX_TYPES)
        return _module(wasm)
    except BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None


def _check_count(what: str, count: int, most: int) -> None:
    if count > most:
        raise GuestLoadError(f"wasm: guest has {count} {what}, over the limit of {most}")


def _count(wasm: bytes, number: int) -> int:
    """Number of items in all sections of a kind."""
    return sum(binary.leb_at(section.content, 0)[0] for section in binary.sections(wasm) if section.number == number)


def _module(wasm: bytes) -> Footprint:
    memories: list[Extent] = []
    tables: list[Extent] = []
    structures = 0
    for section in binary.sections(wasm):
        content = section.content
        if section.number in (_IMPORT, _FUNCTIONS):
            structures += _FUNCTION * binary.leb_at(content, 0)[0]
        elif section.number == _GLOBALS:
            structures += _GLOBAL * binary.leb_at(content, 0)[0]
        elif section.number == _TABLE:
            tables += _extents(content, 1, 1)
        elif section.number == _MEMORY:
            memories += _extents(content, 0, PAGE)
    return Footprint(tuple(memories), tuple(tables), structures)


def _extents(content: bytes, skipped: int, unit: int) -> Iterator[Extent]:
    """Items of a memory or table section; a table has its type in front."""
    count, at = binary.leb_at(content, 0)
    for _ in range(count):
        flags, at = binary.leb_at(content, at + skipped)
        if flags > 1:
            raise BinaryError(f"a memory or table has unknown flags {flags:#x}")
        minimum, at = binary.leb_at(content, at)
        maximum: int | None = None
        if flags:
            maximum, at = binary.leb_at(content, at)
        yield Extent(minimum * unit, None if maximum is None else maximum * unit)


def _component(wasm: bytes) -> Footprint:
    """All core modules of a component and of the components in it, each instantiated as often as it says."""
    _check_count("imports", _count(wasm, _COMPONENT_IMPORT), MAX_IMPORTS)
    _check_count("exports", _count(wasm, _COMPONENT_EXPORT), MAX_EXPORTS)
    with_modules = [part for part in _components(wasm) if part.modules]
    modules = [module for part in with_modules for module in part.modules]
    used = [part.modules[number] for part in with_modules for number in part.instantiated if number < len(part.modules)]
    instances = sum(len(part.instantiated) for part in with_modules)
    structures = sum(module.structures for module in used)
    if len(with_modules) > 1 or len(used) < instances:
        # Components that call each other have instances of their own between them, and parts may be used repeatedly.
        instances = MAX_INSTANCES
        structures = max(module.structures for module in modules) * MAX_INSTANCES
    _check_count("core instances", instances, MAX_INSTANCES)
    return Footprint(
        tuple(memory for module in modules for memory in module.memories),
        tuple(table for module in modules for table in module.tables),
        structures,
        instances,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Core modules of one component, without those of components in it; numbers of the instantiated ones."""

    modules: tuple[Footprint, ...]
    instantiated: tuple[int, ...]


def _components(wasm: bytes, depth: int = 0) -> Iterator[_Part]:
    if depth > _DEEPEST:
        raise BinaryError(f"components are nested more than {_DEEPEST} deep")
    sections = list(binary.sections(wasm))
    yield _Part(
        tuple(_module(section.content) for section in sections if section.number == _CORE_MODULE),
        tuple(
            number
            for section in sections
            if section.number == _CORE_INSTANCE
            for number in _instantiated(section.content)
        ),
    )
    for section in sections:
        if section.number == _NESTED:
            yield from _components(section.content, depth + 1)


def _instantiated(content: bytes) -> Iterable[int]:
    """Module numbers in a section of core instances: `instantiate` (0) or a list of exports (1)."""
    count, at = binary.leb_at(content, 0)
    for _ in range(count):
        kind, at = binary.leb_at(content, at)
        if kind == 0:
            module, at = binary.leb_at(content, at)
            yield module
        items, at = binary.leb_at(content, at)
        for _ in range(items):
            _, at = binary.name_at(content, at)
            _, at = binary.leb_at(content, at + 1)
