"""A web guest's wasm, compiled and checked against its style: what is the same for all its instances."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from wasmtime import FuncType, MemoryType, Module, WasmtimeError

from kubewasp.wasm import binary
from kubewasp.wasm.compilation import compile_and_keep, load_compiled
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.ffi import PAGE
from kubewasp.web import handler_abi, middleware_abi
from kubewasp.web.host_functions import WASI
from kubewasp.web.web_engine import WebEngine, web_engine

if TYPE_CHECKING:
    from wasmtime import InstancePre

    from kubewasp.web.host_functions import Abi
    from kubewasp.web.request_limits import WebLimits

ABIS: Final = {"module": handler_abi.ABI, "http-wasm": middleware_abi.ABI}
_START: Final = ("_initialize", "_start")


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled guest. Instances come from `prepared`, whose imports are all there already."""

    engine: WebEngine
    prepared: InstancePre
    abi: Abi
    digest: str
    start: tuple[str, ...]
    uses_wasi: bool
    results: dict[str, str]  # of the functions that it exports for its ABI


def load(wasm: bytes, style: str, limits: WebLimits) -> Program:
    """Compiles a guest, or takes it from the cache, and checks that it keeps to the ABI of its style."""
    abi = ABIS[style]
    try:
        binary.check_header(wasm)
        if binary.is_component(wasm):
            raise GuestLoadError(f"wasm: a component; guests of style {style} are core modules")
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    engine = web_engine(limits.stack)
    module = load_compiled(Module, engine.engine, engine.settings, wasm)
    try:
        if module is None:
            module = compile_and_keep(Module, engine.engine, engine.settings, wasm)
        _check_imports(module, abi, style)
        prepared = engine.linker.instantiate_pre(module)
        exported = binary.signatures(wasm).exported
    except (WasmtimeError, binary.BinaryError) as error:
        raise GuestLoadError(f"wasm: {' '.join(str(error).split())}") from None
    _check_exports(module, exported, abi, style)
    _check_memory(module, limits)
    return Program(
        engine=engine,
        prepared=prepared,
        abi=abi,
        digest=hashlib.sha256(wasm).hexdigest(),
        start=next(((name,) for name in _START if exported.get(name) == "() -> ()"), ()),
        uses_wasi=any(item.module == WASI for item in module.imports),
        results={name: result for name, _, result in abi.exports},
    )


def _check_imports(module: Module, abi: Abi, style: str) -> None:
    known = [function.name for function in abi.functions]
    others = {other.module: name for name, other in ABIS.items() if other is not abi}
    for item in module.imports:
        where = f'module "{item.module}" name "{item.name}"'
        if item.module in others:
            raise GuestLoadError(f"wasm: guest imports {where}: that is a guest of style {others[item.module]}")
        if not isinstance(item.type, FuncType):
            raise GuestLoadError(f"wasm: guest imports something else than a function: {where}")
        if item.module == abi.module and item.name not in known:
            raise GuestLoadError(f"wasm: guest imports an unknown function: {where}; there are {', '.join(known)}")
        if item.module not in (abi.module, WASI):
            raise GuestLoadError(
                f"wasm: guest imports an unknown function: {where}; style {style} has {abi.module} and {WASI}"
            )


def _check_exports(module: Module, exported: dict[str, str], abi: Abi, style: str) -> None:
    functions = {item.name for item in module.exports if isinstance(item.type, FuncType)}
    for name, parameters, result in abi.exports:
        wanted = _signature(parameters, result)
        if name not in functions:
            raise GuestLoadError(f"wasm: guest doesn't export func[{name}]; style {style} needs {name}{wanted}")
        if exported.get(name) != wanted:
            raise GuestLoadError(
                f"wasm: guest exports the wrong signature for func[{name}]: {exported.get(name)}. should be {wanted}"
            )


def _signature(parameters: int, result: str) -> str:
    """As `binary.signatures` writes them."""
    return f"({', '.join(['i32'] * parameters)}) -> ({result})"


def _check_memory(module: Module, limits: WebLimits) -> None:
    kind = next((item.type for item in module.exports if item.name == "memory"), None)
    if not isinstance(kind, MemoryType):
        raise GuestLoadError("wasm: guest doesn't export memory[memory]")
    if kind.limits.min * PAGE > limits.memory:
        raise GuestLoadError(
            f"wasm: guest starts with {kind.limits.min * PAGE} bytes of memory, over the limit of {limits.memory}; "
            "raise limits.memory or build it with less"
        )
