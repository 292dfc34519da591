"""Compiled WASI program with its engine: loading, inspection data, checks."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from wasmtime import Linker, MemoryType, Module, Store, WasmtimeError
from wasmtime import component as components
from wasmtime.component import Component

from kubewasp.k8s.quantity import format_size
from kubewasp.wasi import preview1_host
from kubewasp.wasi.preview1 import MODULE
from kubewasp.wasi.preview1_interposer import interposed, interposer_imports, interposer_wat, shim_wat
from kubewasp.wasm import binary
from kubewasp.wasm.compilation import Compiled, compile_and_keep, compile_text, load_compiled
from kubewasp.wasm.component.component_module import is_plugin_world
from kubewasp.wasm.core.abi import KUBERNETES_MODULES
from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import SWITCHED_OFF, EngineSettings, one_for_each
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.footprint import Bounds, Footprint, HostModules, bounds
from kubewasp.wasm.footprint import read as read_footprint
from kubewasp.wasm.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.wasi.capabilities import Capabilities
    from kubewasp.wasm.limits import CompileLimits

RUN = "wasi:cli/run@0.2."
# Shim and interposer: two instances and a table.
_HOST = HostModules(instances=2, tables=1, table_elements=128)


class WasiEngine:
    """Engine, epoch ticker and linkers shared by programs with the same stack limit.

    Fuel is counted in separate engines, because counting costs time.
    """

    def __init__(self, stack: int, *, fueled: bool) -> None:
        self.settings = EngineSettings("wasi", SWITCHED_OFF, ("wasm_component_model",), stack, fueled)
        self.engine = self.settings.engine()
        self.key = (stack, fueled)
        self.ticker = Ticker(self.engine)
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        preview1_host.define(self.linker)
        self.component_linker = components.Linker(self.engine)
        self.component_linker.add_wasip2()


_wasi_engine = one_for_each(WasiEngine)


@dataclass(frozen=True, slots=True)
class Interposer:
    """Compiled shim and interposer of a program, with the names to link."""

    shim: Module
    interposer: Module
    names: frozenset[bytes]
    imports: list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class WasiProgram:
    """Compiled program. `imports`: pairs of module and name; for a component, of interface and an empty name."""

    engine: WasiEngine
    compiled: Module | Component
    name: str
    digest: str
    size: int
    imports: tuple[tuple[str, str], ...]
    exports: tuple[str, ...]
    start: str | None = None
    starts: tuple[bytes, ...] = ()
    memory_pages: int | None = None
    memory_max_pages: int | None = None
    footprint: Footprint = field(default_factory=Footprint)
    producers: dict[str, list[str]] = field(default_factory=dict)
    from_cache: bool = False
    compile_seconds: float = 0.0
    _bounds: dict[int, Bounds] = field(default_factory=dict)

    @property
    def is_component(self) -> bool:
        return isinstance(self.compiled, Component)

    @property
    def run_export(self) -> str:
        """The export that runs it; empty if there is none."""
        if self.is_component:
            return next((name for name in self.exports if name.startswith(RUN)), "")
        return "_start" if "_start" in self.exports else ""

    def bounds(self, capabilities: Capabilities) -> Bounds:
        """Limits of a store; GuestLoadError if the program begins above the memory limit."""
        memory = capabilities.memory
        found = self._bounds.get(memory)
        if found is None:
            try:
                found = self._bounds[memory] = bounds(self.footprint, memory, _HOST, capabilities.names.memory)
            except GuestLoadError as error:
                raise GuestLoadError(f"{self.name}: {str(error).removeprefix('wasm: ')}") from None
        return found

    @cached_property
    def import_names(self) -> list[bytes]:
        """Names of the imports of a core module, all of WASI."""
        return [name.encode() for _, name in self.imports]

    @cached_property
    def problems(self) -> list[str]:
        """Reasons why it cannot run; empty if it can."""
        return _problems(self)

    @cached_property
    def interposer(self) -> Interposer:
        return self._interposer(traced=False)

    @cached_property
    def traced_interposer(self) -> Interposer:
        return self._interposer(traced=True)

    def _interposer(self, *, traced: bool) -> Interposer:
        names = interposed(frozenset(name for module, name in self.imports if module == MODULE), traced=traced)
        engine, settings = self.engine.engine, self.engine.settings
        return Interposer(
            compile_text(engine, settings, shim_wat(names)),
            compile_text(engine, settings, interposer_wat(names, traced=traced)),
            frozenset(name.encode() for name in names),
            [(module.encode(), name.encode()) for module, name in interposer_imports(names, traced=traced)],
        )


def load_program(wasm: bytes, capabilities: Capabilities, *, name: str = "program") -> WasiProgram:
    """Compiles a program, or loads it from the cache.

    It runs with these capabilities, and with others of the same stack limit that count fuel too, or not either.
    """
    engine = _wasi_engine(capabilities.stack, fueled=capabilities.fuel is not None)
    try:
        binary.check_header(wasm)
        if binary.is_component(wasm):
            return _load_component(wasm, engine, name, capabilities.compilation)
        producers, runnable = binary.producers(wasm), binary.without_start(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"{name}: {error}") from None
    module, from_cache, seconds = _compiled(Module, engine, runnable, name, capabilities.compilation)
    kinds = {item.name: item.type for item in module.exports}
    memory = kinds.get("memory")
    pages = memory.limits if isinstance(memory, MemoryType) else None
    return WasiProgram(
        engine=engine,
        compiled=module,
        name=name,
        digest=hashlib.sha256(wasm).hexdigest(),
        size=len(wasm),
        imports=tuple((item.module, item.name or "") for item in module.imports),
        exports=tuple(name for name in kinds if name != binary.START_SECTION_EXPORT),
        start=_start_type(runnable),
        starts=tuple(name.encode() for name in (binary.START_SECTION_EXPORT, "_start") if name in kinds),
        memory_pages=None if pages is None else pages.min,
        memory_max_pages=None if pages is None else pages.max,
        footprint=read_footprint(runnable),
        producers=producers,
        from_cache=from_cache,
        compile_seconds=seconds,
    )


def _start_type(wasm: bytes) -> str | None:
    """Type of _start, read from the file (see binary.py). None if it is unknown or not a function."""
    try:
        return binary.signatures(wasm).exported.get("_start")
    except binary.BinaryError:
        return None


def _load_component(wasm: bytes, engine: WasiEngine, name: str, limits: CompileLimits) -> WasiProgram:
    component, from_cache, seconds = _compiled(Component, engine, wasm, name, limits)
    footprint = read_footprint(wasm)
    return WasiProgram(
        engine=engine,
        compiled=component,
        name=name,
        digest=hashlib.sha256(wasm).hexdigest(),
        size=len(wasm),
        imports=tuple((interface, "") for interface in component.type.imports(engine.engine)),
        exports=tuple(component.type.exports(engine.engine)),
        footprint=footprint,
        from_cache=from_cache,
        compile_seconds=seconds,
    )


def _compiled(
    kind: type[Compiled], engine: WasiEngine, wasm: bytes, name: str, limits: CompileLimits
) -> tuple[Compiled, bool, float]:
    """The compiled program, whether it comes from the cache, and the seconds it took."""
    began = time.perf_counter()
    known = load_compiled(kind, engine.engine, engine.settings, wasm)
    try:
        compiled = known or compile_and_keep(kind, engine.engine, engine.settings, wasm, limits=limits)
    except WasmtimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        cause = "; ".join(line for line in lines if line and not line.endswith(":"))
        raise GuestLoadError(f"{name}: invalid WebAssembly program: {cause}") from None
    return compiled, known is not None, time.perf_counter() - began


def check_runnable(program: WasiProgram, capabilities: Capabilities) -> None:
    """GuestLoadError with all reasons why a program cannot run as a command, or not within the memory limit."""
    if program.problems:
        raise GuestLoadError(f"{program.name}: {'; '.join(program.problems)}")
    needed = (program.memory_pages or 0) * PAGE
    if needed > capabilities.memory:
        raise GuestLoadError(
            f"{program.name}: initial memory of {format_size(needed)} is over the limit of "
            f"{format_size(capabilities.memory)}; raise {capabilities.names.memory}"
        )
    program.bounds(capabilities)


def _problems(program: WasiProgram) -> list[str]:
    if _is_plugin(program):
        return ["a scheduler plugin, not a WASI command; use `kubewasp plugin call` or `kubewasp plugin inspect`"]
    found = [_import_problem(program, *item) for item in program.imports]
    if not program.run_export:
        found.append(_no_start(program))
    if not program.is_component:
        found += _export_problems(program)
    return [problem for problem in dict.fromkeys(found) if problem]


def _is_plugin(program: WasiProgram) -> bool:
    if program.is_component:
        return is_plugin_world(program.exports)
    if any(module in KUBERNETES_MODULES for module, _ in program.imports):
        return True
    return "_start" not in program.exports and any(name in HOOKS for name in program.exports)


def _no_start(program: WasiProgram) -> str:
    if program.is_component:
        there = ", ".join(program.exports) or "none"
        return f"not a command: the component exports no {RUN}x; exports: {there}"
    if "_initialize" in program.exports:
        return "WASI reactor (exports _initialize, not _start); build it as a command"
    return "not a WASI command: no export _start"


def _export_problems(program: WasiProgram) -> Iterator[str]:
    if program.run_export and program.start != "() -> ()":
        yield "export _start is not a function without parameters and results"
    if program.memory_pages is None:
        yield "no exported memory named memory, which WASI needs"


def _import_problem(program: WasiProgram, module: str, name: str) -> str:
    if program.is_component:
        return "" if is_wasi_interface(module) else f"import {module} is not available: only WASI 0.2 is"
    if module == "wasi_unstable":
        return f"import {module} {name} is WASI preview 0; build the program for {MODULE}"
    if module != MODULE:
        return f"import {module} {name} is not WASI and not available"
    return "" if _is_defined(program.engine, name) else f"import {module} {name} is not in WASI preview 1"


def is_wasi_interface(interface: str) -> bool:
    package, _, version = interface.partition("@")
    return package.split("/")[0] in _PACKAGES and version.startswith("0.2.")


_PACKAGES = {f"wasi:{name}" for name in ("io", "clocks", "random", "cli", "filesystem", "sockets")}


def _is_defined(engine: WasiEngine, name: str) -> bool:
    try:
        engine.linker.get(Store(engine.engine), MODULE, name)
    except WasmtimeError:
        return False
    return True
