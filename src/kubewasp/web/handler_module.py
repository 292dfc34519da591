"""Compiled core module of a web guest, checked against the ABI of its style, and its engine."""

from __future__ import annotations

import hashlib
import logging
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from wasmtime import FuncType, Linker, MemoryType, Module, WasmtimeError

from kubewasp.wasm import binary
from kubewasp.wasm.compilation import compile_and_keep, load_compiled
from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.engine_settings import SWITCHED_OFF, EngineSettings, one_for_each
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.footprint import Bounds, bounds
from kubewasp.wasm.footprint import read as read_footprint
from kubewasp.wasm.light_instance import InstanceTemplate
from kubewasp.web import handler_abi, middleware_abi, run_abi
from kubewasp.web.host_functions import WASI, define

if TYPE_CHECKING:
    from wasmtime import InstancePre

    from kubewasp.web.host_functions import Abi
    from kubewasp.web.web_config import Style, WebLimits

logger = logging.getLogger(__name__)
_ABIS: Final = {"module": handler_abi.ABI, "http-wasm": middleware_abi.ABI}
_START: Final = ("_initialize", "_start")


# Instances in a pool: those of requests on the event loop, one at a time with its middlewares. The pool has room for
# more of them.
_POOLED: Final = 16


class WebEngine:
    """Engine, epoch ticker and linker shared by all guests with the same stack limit."""

    def __init__(self, stack: int, *, pooled: int = 0) -> None:
        self.settings = EngineSettings("web, memories in place", (*SWITCHED_OFF, "memory_may_move"), stack=stack)
        self.engine = self.settings.engine(pooled=2 * pooled)
        # One for each instance that may be made. A list: `pop` and `append` are atomic.
        self.places = [None] * pooled
        self.ticker = Ticker(self.engine)
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        self.linker.allow_shadowing = True
        define(self.linker, _ABIS.values())
        self._run_modules: set[str] = set()
        self._lock = threading.Lock()

    def instances_of(self, module: Module, abi: Abi) -> InstancePre:
        """The linked module. Host functions of style `run` are defined for each name in use."""
        with self._lock:
            if abi not in _ABIS.values() and abi.module not in self._run_modules:
                define(self.linker, [abi])
                self._run_modules.add(abi.module)
            return self.linker.instantiate_pre(module)


_web_engine = one_for_each(WebEngine)


@dataclass(frozen=True, slots=True)
class HandlerModule:
    """Compiled guest. Instances come from `template`, whose imports are linked."""

    engine: WebEngine
    template: InstanceTemplate
    abi: Abi
    digest: str
    has_start_section: bool
    start: tuple[str, ...]
    uses_wasi: bool
    bounds: Bounds
    pooled: HandlerModule | None = None  # the same in an engine with a pool


def load_handler_module(
    wasm: bytes, style: Style, limits: WebLimits, import_module: str = "", *, lasts: bool = False
) -> HandlerModule:
    """Compiles a guest, or loads it from the cache, and checks imports, exports and memory.

    `lasts`: its instances serve several requests.
    """
    try:
        binary.check_header(wasm)
        if binary.is_component(wasm):
            raise GuestLoadError(f"wasm: component; guests of style {style} are core modules")
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    engine = _web_engine(limits.stack)
    module = load_compiled(Module, engine.engine, engine.settings, wasm)
    try:
        if module is None:
            module = compile_and_keep(Module, engine.engine, engine.settings, wasm, limits=limits.compilation)
        footprint = read_footprint(wasm)
        abi = _abi(module, wasm, style, import_module)
        _check_imports(module, abi, style)
        prepared = engine.instances_of(module, abi)
        exported = binary.signatures(wasm).exported
    except (WasmtimeError, binary.BinaryError) as error:
        raise GuestLoadError(f"wasm: {' '.join(str(error).split())}") from None
    _check_exports(module, exported, abi, style)
    _check_memory(module, limits)
    limited = bounds(footprint, limits.memory)
    found = HandlerModule(
        engine=engine,
        template=InstanceTemplate(engine.engine, prepared, limited.of_store),
        abi=abi,
        digest=hashlib.sha256(wasm).hexdigest(),
        has_start_section=binary.has_start(wasm),
        start=next(((name,) for name in _START if exported.get(name) == "() -> ()"), ()),
        uses_wasi=any(item.module == WASI for item in module.imports),
        bounds=limited,
    )
    return found if lasts or found.start else replace(found, pooled=_pooled(found, module, limits.stack))


def _pooled(ordinary: HandlerModule, module: Module, stack: int) -> HandlerModule | None:
    """The module in an engine with a pool; None without address space for the pool, or if the module is too large."""
    try:
        engine = _web_engine(stack, pooled=_POOLED)
        prepared = engine.instances_of(Module.deserialize(engine.engine, module.serialize()), ordinary.abi)
    except WasmtimeError as error:
        logger.debug("Instances are made without a pool: %s", error)
        return None
    template = InstanceTemplate(engine.engine, prepared, ordinary.bounds.of_store)
    return replace(ordinary, engine=engine, template=template)


def _abi(module: Module, wasm: bytes, style: Style, import_module: str) -> Abi:
    if style in _ABIS:
        return _ABIS[style]
    name = import_module or run_abi.DEFAULT_MODULE
    if any(not isinstance(item.type, FuncType) for item in module.imports):
        return run_abi.abi(name, run_abi.LINES, reads_lines=False)  # refused below
    reads_lines = any((item.module, item.name) == (name, "igets") for item in module.imports)
    return run_abi.abi(name, binary.signatures(wasm).exported.get("run", ""), reads_lines=reads_lines)


def _check_imports(module: Module, abi: Abi, style: str) -> None:
    known = [function.name for function in abi.functions]
    others = {other.module: name for name, other in _ABIS.items() if other is not abi}
    for item in module.imports:
        where = f'module "{item.module}" name "{item.name}"'
        if item.module in others:
            raise GuestLoadError(f"wasm: guest imports {where}: set style: {others[item.module]}")
        if not isinstance(item.type, FuncType):
            raise GuestLoadError(f"wasm: guest imports {where}, which is not a function")
        if item.module == abi.module and item.name not in known:
            raise GuestLoadError(f"wasm: guest imports an unknown function: {where}; offered: {', '.join(known)}")
        if item.module not in (abi.module, WASI):
            offered = f"{abi.module} and {WASI}{'; the name is set by importModule' if style == 'run' else ''}"
            raise GuestLoadError(f"wasm: guest imports an unknown function: {where}; style {style} offers {offered}")


def _check_exports(module: Module, exported: dict[str, str], abi: Abi, style: str) -> None:
    functions = {item.name for item in module.exports if isinstance(item.type, FuncType)}
    for name, parameters, result in abi.exports:
        wanted = _signature(parameters, result)
        if name not in functions:
            raise GuestLoadError(f"wasm: guest doesn't export func[{name}]; style {style} needs {name}{wanted}")
        if style == "run" and name == "run" and exported.get(name) not in (run_abi.LINES, run_abi.MESSAGE):
            wanted = f"{run_abi.LINES} or {run_abi.MESSAGE}"
        if exported.get(name) != wanted:
            raise GuestLoadError(
                f"wasm: guest exports the wrong signature for func[{name}]: {exported.get(name)}. should be {wanted}"
            )


def _signature(parameters: int, result: str) -> str:
    """In the notation of `binary.signatures`."""
    return f"({', '.join(['i32'] * parameters)}) -> ({result})"


def _check_memory(module: Module, limits: WebLimits) -> None:
    kind = next((item.type for item in module.exports if item.name == "memory"), None)
    if not isinstance(kind, MemoryType):
        raise GuestLoadError("wasm: guest doesn't export memory[memory]")
    if kind.limits.min * PAGE > limits.memory:
        raise GuestLoadError(
            f"wasm: guest starts with {kind.limits.min * PAGE} bytes of memory, over the limit of {limits.memory}; "
            "raise limits.memory or build the guest with less"
        )
