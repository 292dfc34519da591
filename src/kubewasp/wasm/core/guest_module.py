"""A guest's wasm, compiled and checked against the ABI: what is the same for all its instances."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from wasmtime import FuncType, MemoryType, Module, Store, WasmtimeError

from kubewasp.wasm import binary
from kubewasp.wasm.compilation import compile_and_keep, load_compiled
from kubewasp.wasm.component.component_module import load_component
from kubewasp.wasm.core.abi import (
    API,
    BY_KEY,
    EXTENSION,
    HOOKS,
    KUBERNETES_MODULES,
    MAIN_HOOKS,
    START_FUNCTIONS,
    WASI,
    Hook,
)
from kubewasp.wasm.core.core_engine import ClassicEngine, classic_engine, strict_engine
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.wasm.guest_link import Link
    from kubewasp.wasm.hook_runner import Pool
    from kubewasp.wasm.limits import Limits


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled guest and what is known of it."""

    engine: ClassicEngine
    module: Module
    digest: str
    size: int
    hooks: dict[str, Hook]
    imports: tuple[tuple[str, str], ...]
    start: tuple[str, ...]
    memory_pages: int
    memory_max_pages: int | None
    producers: dict[str, list[str]] = field(default_factory=dict)
    from_cache: bool = False
    compile_seconds: float = 0.0

    def pool(self, limits: Limits, link: Link, *, config: str, args: Sequence[str], severity: int) -> Pool:
        from kubewasp.wasm.core.instance_pool import InstancePool

        return InstancePool(self, limits, link, config=config, args=args, severity=severity)

    @property
    def uses_wasi(self) -> bool:
        return any(module == WASI for module, _ in self.imports)

    @property
    def uses_signatures(self) -> bool:
        return self.uses("pod_signature")

    @property
    def uses_images(self) -> bool:
        return ("k8s.io/scheduler", "nodeImageStates") in self.imports

    @property
    def uses_objects(self) -> bool:
        """Whether the guest may look at nodes, and not just at their names and numbers."""
        read = ((API, "node"), (API, "nodeList"), (EXTENSION, "node_object"))
        return self.uses_images or any(item in self.imports for item in read)

    @property
    def uses_names(self) -> bool:
        """Whether the guest may look for a node by its name."""
        return self.uses_images or (API, "node") in self.imports or self.uses("node_row")

    @property
    def uses_numbers(self) -> bool:
        return any(map(self.uses, ("at_hand", "node_info", "node_pods")))

    def uses(self, name: str) -> bool:
        """Whether the guest imports that function of our extension."""
        return (EXTENSION, name) in self.imports


class AnyProgram(Protocol):
    """A guest of either kind, core module or component."""

    @property
    def digest(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def from_cache(self) -> bool: ...

    @property
    def compile_seconds(self) -> float: ...

    @property
    def producers(self) -> dict[str, list[str]]: ...

    @property
    def uses_numbers(self) -> bool:
        """Whether the guest looks at more of nodes than their objects: such guests need a node table."""

    @property
    def uses_signatures(self) -> bool: ...

    def pool(self, limits: Limits, link: Link, *, config: str, args: Sequence[str], severity: int) -> Pool:
        """Starts the guest."""


def load_program(wasm: bytes, limits: Limits, *, use_cache: bool = True, fueled: bool = False) -> AnyProgram:
    """Compiles a guest, or takes it from the cache, and checks that it keeps to the ABI.

    `fueled` is for those who count what a guest does: its instances then know what they have burnt.
    """
    try:
        binary.check_header(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    if binary.is_component(wasm):
        return load_component(wasm, limits, use_cache=use_cache, fueled=fueled)
    return load_module(wasm, limits, use_cache=use_cache, fueled=fueled)


def load_module(wasm: bytes, limits: Limits, *, use_cache: bool = True, fueled: bool = False) -> Program:
    """The same for a core module."""
    began = time.perf_counter()
    try:
        made_by = binary.producers(wasm)
        runnable = binary.without_start(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    engine = classic_engine(limits.stack, fueled=fueled)
    module = load_compiled(Module, engine.engine, engine.settings, runnable) if use_cache else None
    from_cache = module is not None
    if module is None:
        module = _compile(engine, runnable)
    compile_seconds = time.perf_counter() - began
    memory = _memory(module, limits)
    imports, exports = _signatures(module, runnable)
    return Program(
        engine=engine,
        module=module,
        digest=hashlib.sha256(wasm).hexdigest(),
        size=len(wasm),
        hooks=_hooks(exports),
        imports=tuple(_checked_import(engine, *item) for item in imports),
        start=tuple(name for name in (binary.START_SECTION_EXPORT, *_wasi_start(exports)) if name in exports),
        memory_pages=memory.limits.min,
        memory_max_pages=memory.limits.max,
        producers=made_by,
        from_cache=from_cache,
        compile_seconds=compile_seconds,
    )


def _compile(engine: ClassicEngine, wasm: bytes) -> Module:
    try:
        Module.validate(strict_engine(), wasm)
        return compile_and_keep(Module, engine.engine, engine.settings, wasm)
    except WasmtimeError as error:
        raise GuestLoadError(f"wasm: guest is not a valid module: {_one_line(error)}") from None


def _one_line(error: WasmtimeError) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line for line in lines if line and not line.endswith(":")]
    return "; ".join(cause.partition(": ")[2] if cause[0].isdigit() else cause for cause in causes)


def _memory(module: Module, limits: Limits) -> MemoryType:
    exported = next((item for item in module.exports if item.name == "memory"), None)
    if exported is None or not isinstance(exported.type, MemoryType):
        raise GuestLoadError("wasm: guest doesn't export memory[memory]")
    if exported.type.limits.min * PAGE > limits.memory:
        raise GuestLoadError(
            f"wasm: guest starts with {exported.type.limits.min * PAGE} bytes of memory, over the limit of "
            f"{limits.memory}; raise limits.memory or build it with less"
        )
    return exported.type


def _signatures(module: Module, wasm: bytes) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """What is imported (module, name, signature), and the signatures of what is exported."""
    for item in module.imports:
        if not isinstance(item.type, FuncType):
            raise GuestLoadError(
                f'wasm: guest imports something else than a function: module "{item.module}" name "{item.name}"'
            )
    try:
        found = binary.signatures(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    imports = [(item.module, item.name or "", kind) for item, kind in zip(module.imports, found.imported, strict=True)]
    return imports, {item.name: found.exported.get(item.name, "not a function") for item in module.exports}


def _hooks(exports: dict[str, str]) -> dict[str, Hook]:
    found: dict[str, Hook] = {}
    for name, hook in HOOKS.items():
        if name not in exports:
            continue
        if exports[name] != hook.signature:
            raise GuestLoadError(
                f"wasm: guest exports the wrong signature for func[{name}]. should be {hook.signature}"
            )
        found[name] = hook
    if not found:
        raise GuestLoadError("wasm: guest does not export any plugin functions")
    if not any(name in found for name in MAIN_HOOKS) and list(found) != ["prefilter"]:
        raise GuestLoadError("wasm: filter, score, reserve, permit or bind must be exported")
    return found


def _wasi_start(exports: dict[str, str]) -> tuple[str, ...]:
    for name in (binary.START_SECTION_EXPORT, *START_FUNCTIONS):
        if exports.get(name, "() -> ()") != "() -> ()":
            raise GuestLoadError(f"wasm: guest exports the wrong signature for func[{name}]. should be () -> ()")
    # A module is a command or a reactor, not both.
    return next(((name,) for name in START_FUNCTIONS if name in exports), ())


def _checked_import(engine: ClassicEngine, module: str, name: str, signature: str) -> tuple[str, str]:
    where = f'module "{module}" function "{name}"'
    known = BY_KEY.get(f"{module}.{name}")
    if known is not None and known.module == module:
        if signature != known.signature:
            raise GuestLoadError(f"wasm: guest imports {where} as {signature}. should be {known.signature}")
    elif module == WASI and _is_defined(engine, module, name):
        pass
    elif module in KUBERNETES_MODULES or module == WASI:
        raise GuestLoadError(f"wasm: guest imports an unknown function: {where}")
    else:
        raise GuestLoadError(
            f"wasm: guest imports an unknown function: {where}; there are {', '.join(KUBERNETES_MODULES)} and {WASI}"
        )
    return module, name


def _is_defined(engine: ClassicEngine, module: str, name: str) -> bool:
    try:
        engine.linker.get(Store(engine.engine), module, name)
    except WasmtimeError:
        return False
    return True
