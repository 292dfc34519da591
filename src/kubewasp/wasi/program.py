"""A WASI program, compiled and checked: what is the same for all its runs."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from wasmtime import MemoryType, Module, Store, WasmtimeError
from wasmtime.component import Component

from kubewasp.wasi.interposition import door_imports, door_wat, interposed, shim_wat
from kubewasp.wasi.preview1 import MODULE
from kubewasp.wasi.wasi_engine import WasiEngine, wasi_engine
from kubewasp.wasm import binary
from kubewasp.wasm.compilation import Compiled, compile_and_keep, compile_text, load_compiled
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.wasi.grants import Grants

MAX_BYTES = 1 << 30
RUN = "wasi:cli/run@0.2."


@dataclass(frozen=True, slots=True)
class Door:
    """The modules between a program and the runtime, and what to link them with."""

    shim: Module
    door: Module
    names: frozenset[bytes]
    imports: list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Program:
    """A compiled program. `imports` has interfaces where it is a component, and pairs of module and name else."""

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
    producers: dict[str, list[str]] = field(default_factory=dict)
    from_cache: bool = False
    compile_seconds: float = 0.0

    @property
    def is_component(self) -> bool:
        return isinstance(self.compiled, Component)

    @property
    def run_export(self) -> str:
        """What is called to run it; nothing if it cannot be run."""
        if self.is_component:
            return next((name for name in self.exports if name.startswith(RUN)), "")
        return "_start" if "_start" in self.exports else ""

    @cached_property
    def import_names(self) -> list[bytes]:
        """Of a core module: all are of WASI."""
        return [name.encode() for _, name in self.imports]

    @cached_property
    def problems(self) -> list[str]:
        """Why it cannot be run; nothing if it can."""
        return _problems(self)

    @cached_property
    def door(self) -> Door:
        return self._door(traced=False)

    @cached_property
    def traced_door(self) -> Door:
        return self._door(traced=True)

    def _door(self, *, traced: bool) -> Door:
        names = interposed(frozenset(name for module, name in self.imports if module == MODULE), traced=traced)
        engine, settings = self.engine.engine, self.engine.settings
        return Door(
            compile_text(engine, settings, shim_wat(names)),
            compile_text(engine, settings, door_wat(names, traced=traced)),
            frozenset(name.encode() for name in names),
            [(module.encode(), name.encode()) for module, name in door_imports(names, traced=traced)],
        )


def load(wasm: bytes, grants: Grants, *, name: str = "program") -> Program:
    """Compiles a program, or takes it from the cache. It can be run with those grants, and others with that engine."""
    engine = wasi_engine(grants.stack, fueled=grants.fuel is not None)
    try:
        binary.check_header(wasm)
        if binary.is_component(wasm):
            return _load_component(wasm, engine, name)
        producers, runnable = binary.producers(wasm), binary.without_start(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"{name}: {error}") from None
    module, from_cache, seconds = _compiled(Module, engine, runnable, name)
    kinds = {item.name: item.type for item in module.exports}
    memory = kinds.get("memory")
    pages = memory.limits if isinstance(memory, MemoryType) else None
    return Program(
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
        producers=producers,
        from_cache=from_cache,
        compile_seconds=seconds,
    )


def _start_type(wasm: bytes) -> str | None:
    """The type of _start, read from the file: see binary.py for why. None if it is not known, or no function."""
    try:
        return binary.signatures(wasm).exported.get("_start")
    except binary.BinaryError:
        return None


def _load_component(wasm: bytes, engine: WasiEngine, name: str) -> Program:
    component, from_cache, seconds = _compiled(Component, engine, wasm, name)
    return Program(
        engine=engine,
        compiled=component,
        name=name,
        digest=hashlib.sha256(wasm).hexdigest(),
        size=len(wasm),
        imports=tuple((interface, "") for interface in component.type.imports(engine.engine)),
        exports=tuple(component.type.exports(engine.engine)),
        from_cache=from_cache,
        compile_seconds=seconds,
    )


def _compiled(kind: type[Compiled], engine: WasiEngine, wasm: bytes, name: str) -> tuple[Compiled, bool, float]:
    """The program, whether it comes from the cache, and how long that took."""
    began = time.perf_counter()
    known = load_compiled(kind, engine.engine, engine.settings, wasm)
    try:
        compiled = known or compile_and_keep(kind, engine.engine, engine.settings, wasm)
    except WasmtimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        cause = "; ".join(line for line in lines if line and not line.endswith(":"))
        raise GuestLoadError(f"{name}: this is not a valid WebAssembly program: {cause}") from None
    return compiled, known is not None, time.perf_counter() - began


def check_runnable(program: Program, grants: Grants) -> None:
    """One error for a program that cannot be run as a command, or not with those grants."""
    if program.problems:
        raise GuestLoadError(f"{program.name}: {'; '.join(program.problems)}")
    needed = (program.memory_pages or 0) * PAGE
    if needed > grants.memory:
        raise GuestLoadError(
            f"{program.name}: it starts with {needed} bytes of memory, over the limit of {grants.memory}; "
            "raise --memory"
        )


def _problems(program: Program) -> list[str]:
    found = [_import_problem(program, *item) for item in program.imports]
    if not program.run_export:
        found.append(_no_start(program))
    if not program.is_component:
        found += _export_problems(program)
    return [problem for problem in found if problem]


def _no_start(program: Program) -> str:
    if program.is_component:
        there = ", ".join(program.exports) or "nothing"
        return f"the component exports no {RUN}x, so it is no command; it exports {there}"
    if "_initialize" in program.exports:
        return "it is a WASI reactor (a library: it exports _initialize, and no _start); build it as a command"
    return "it exports no _start, so it is no WASI command"


def _export_problems(program: Program) -> Iterator[str]:
    if program.run_export and program.start != "() -> ()":
        yield "its export _start is no function without parameters and results"
    if program.memory_pages is None:
        yield "it exports no memory with the name memory, which WASI needs"


def _import_problem(program: Program, module: str, name: str) -> str:
    if program.is_component:
        return "" if is_wasi_interface(module) else f"it imports {module}, which is not offered: there is just WASI 0.2"
    if module == "wasi_unstable":
        return f"it imports {module} {name}: that is WASI preview 0; build it for {MODULE}"
    if module != MODULE:
        return f"it imports {module} {name}, which is not WASI and not offered"
    return (
        "" if _is_defined(program.engine, name) else f"it imports {module} {name}, which WASI preview 1 does not have"
    )


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
