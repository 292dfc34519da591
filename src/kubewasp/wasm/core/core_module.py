"""Core modules: compiled, checked against the ABI, shared by all their instances."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from wasmtime import FuncType, MemoryType, Module, Store, WasmtimeError

from kubewasp.wasm import binary
from kubewasp.wasm.compilation import compile_and_keep, compile_checked, load_checked, load_compiled
from kubewasp.wasm.core.abi import ABORT, API, BY_KEY, EXTENSION, KUBERNETES_MODULES, SCHEDULER, START_FUNCTIONS, WASI
from kubewasp.wasm.core.core_engine import STRICT, CoreEngine, core_engine
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.footprint import Footprint, bounds
from kubewasp.wasm.footprint import read as read_footprint
from kubewasp.wasm.hooks import HOOKS, MAIN_HOOKS, Hook

if TYPE_CHECKING:
    from kubewasp.framework.handle import Handle
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.guest_runner import GuestSettings, RunnerPool
    from kubewasp.wasm.limits import CompileLimits, Limits
    from kubewasp.wasm.load_checks import Positions

_COMMAND: Final = "; it is a WASI command: use `kubewasp wasi run`"


@dataclass(frozen=True, slots=True)
class CoreModule:
    """A compiled core module, its exported hooks and its imports."""

    engine: CoreEngine
    compiled: Module
    digest: str
    size: int
    hooks: dict[str, Hook]
    imports: tuple[tuple[str, str], ...]
    start_functions: tuple[str, ...]
    memory_pages: int
    memory_max_pages: int | None
    footprint: Footprint
    producers: dict[str, list[str]] = field(default_factory=dict)
    from_cache: bool = False
    compile_seconds: float = 0.0
    positions: Positions | None = None  # of the guest's file, for those of the compiled module with load checks

    def start(self, limits: Limits, settings: GuestSettings, handle: Handle, logs: GuestLogSink) -> RunnerPool:
        from kubewasp.wasm.core.core_pool import CorePool

        return CorePool(self, limits, settings, handle, logs)

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
        """Whether the guest may read Node objects, and not just names and records."""
        read = ((API, "node"), (API, "nodeList"), (EXTENSION, "node_object"))
        return self.uses_images or any(item in self.imports for item in read)

    @property
    def uses_names(self) -> bool:
        """Whether the guest may look up a node by its name."""
        return self.uses_images or (API, "node") in self.imports or self.uses("node_row")

    @property
    def uses_records(self) -> bool:
        """Whether the guest may read node records, which need a node table."""
        return any(map(self.uses, ("at_hand", "node_info", "node_pods")))

    @property
    def reads_config(self) -> bool:
        """Whether the guest may read its configuration."""
        return (SCHEDULER, "get_config") in self.imports

    def uses(self, name: str) -> bool:
        """Whether the guest imports that function of kubewasp/v1."""
        return (EXTENSION, name) in self.imports


def load_core_module(wasm: bytes, limits: Limits, *, use_cache: bool = True, fueled: bool = False) -> CoreModule:
    """Compiles a core module, or loads it from the cache, and checks that it conforms to the ABI."""
    began = time.perf_counter()
    try:
        made_by = binary.producers(wasm)
        runnable = binary.without_start(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    engine = core_engine(limits.stack, fueled=fueled, interruption=limits.interruption)
    found = _cached(engine, runnable) if use_cache else None
    from_cache = found is not None
    module, positions = found or _compile(engine, runnable, limits.compilation)
    compile_seconds = time.perf_counter() - began
    footprint = read_footprint(runnable)
    memory = _memory(module, limits)
    bounds(footprint, limits.memory)
    imports, exports = _signatures(module, runnable)
    return CoreModule(
        engine=engine,
        compiled=module,
        digest=hashlib.sha256(wasm).hexdigest(),
        size=len(wasm),
        hooks=_hooks(exports, is_command=_is_command(imports, exports)),
        imports=tuple(_checked_import(engine, *item) for item in imports),
        start_functions=tuple(name for name in (binary.START_SECTION_EXPORT, *_wasi_start(exports)) if name in exports),
        memory_pages=memory.limits.min,
        memory_max_pages=memory.limits.max,
        footprint=footprint,
        producers=made_by,
        from_cache=from_cache,
        compile_seconds=compile_seconds,
        positions=positions,
    )


def _cached(engine: CoreEngine, wasm: bytes) -> tuple[Module, Positions | None] | None:
    if engine.load_checks:
        return load_checked(engine.engine, engine.settings, wasm)
    module = load_compiled(Module, engine.engine, engine.settings, wasm)
    return None if module is None else (module, None)


def _compile(engine: CoreEngine, wasm: bytes, limits: CompileLimits) -> tuple[Module, Positions | None]:
    try:
        if engine.load_checks:
            return compile_checked(engine.engine, engine.settings, wasm, limits=limits, strict=STRICT)
        return compile_and_keep(Module, engine.engine, engine.settings, wasm, limits=limits, strict=STRICT), None
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
    """Imports (module, name, signature), and the signatures of the exports by name."""
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


def _hooks(exports: dict[str, str], *, is_command: bool) -> dict[str, Hook]:
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
        raise GuestLoadError(f"wasm: guest does not export any plugin functions{_COMMAND if is_command else ''}")
    if not any(name in found for name in MAIN_HOOKS) and list(found) != ["prefilter"]:
        raise GuestLoadError("wasm: filter, score, reserve, permit or bind must be exported")
    return found


def _is_command(imports: list[tuple[str, str, str]], exports: dict[str, str]) -> bool:
    return "_start" in exports and not any(module in KUBERNETES_MODULES for module, _, _ in imports)


def _wasi_start(exports: dict[str, str]) -> tuple[str, ...]:
    for name in (binary.START_SECTION_EXPORT, *START_FUNCTIONS):
        if exports.get(name, "() -> ()") != "() -> ()":
            raise GuestLoadError(f"wasm: guest exports the wrong signature for func[{name}]. should be () -> ()")
    # A module is a command or a reactor, not both.
    return next(((name,) for name in START_FUNCTIONS if name in exports), ())


def _checked_import(engine: CoreEngine, module: str, name: str, signature: str) -> tuple[str, str]:
    where = f'module "{module}" function "{name}"'
    known = ABORT if (module, name) == (ABORT.module, ABORT.name) else BY_KEY.get(f"{module}.{name}")
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


def _is_defined(engine: CoreEngine, module: str, name: str) -> bool:
    try:
        engine.linker.get(Store(engine.engine), module, name)
    except WasmtimeError:
        return False
    return True
