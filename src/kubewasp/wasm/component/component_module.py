"""Components: compiled, checked against the world of sdk/wit/plugin.wit, shared by all their instances."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wasmtime import WasmtimeError
from wasmtime.component import Component, FuncType

from kubewasp.wasm import binary
from kubewasp.wasm.compilation import compile_and_keep, load_compiled
from kubewasp.wasm.component.component_engine import ComponentEngine, component_engine, is_offered
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.footprint import Footprint, bounds
from kubewasp.wasm.footprint import read as read_footprint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wasmtime.component import Linker

    from kubewasp.framework.handle import Handle
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.guest_runner import GuestSettings, RunnerPool
    from kubewasp.wasm.limits import CompileLimits, Limits

WORLD = "kubewasp:plugin/plugin@1.0.0"
_MOST_PROBLEMS = 20
_EXPORTS = {"start": "func(settings: string) -> string", "call": "func(request: string) -> string"}


@dataclass(frozen=True, slots=True)
class ComponentModule:
    """A compiled component and its imports."""

    engine: ComponentEngine
    component: Component
    linker: Linker
    digest: str
    size: int
    imports: tuple[str, ...]
    footprint: Footprint
    producers: dict[str, list[str]] = field(default_factory=dict)
    from_cache: bool = False
    compile_seconds: float = 0.0

    @property
    def uses_records(self) -> bool:
        """No: without a table, a component's node numbers are those of the Node objects."""
        return False

    @property
    def uses_signatures(self) -> bool:
        """Yes: only a started component reports whether it does."""
        return True

    def start(self, limits: Limits, settings: GuestSettings, handle: Handle, logs: GuestLogSink) -> RunnerPool:
        from kubewasp.wasm.component.component_pool import ComponentPool

        return ComponentPool(self, limits, settings, handle.clock, logs)


def load_component(wasm: bytes, limits: Limits, *, use_cache: bool = True, fueled: bool = False) -> ComponentModule:
    """Compiles a component, or loads it from the cache, and checks that it fits the world."""
    began = time.perf_counter()
    engine = component_engine(limits.stack, fueled=fueled)
    component = load_compiled(Component, engine.engine, engine.settings, wasm) if use_cache else None
    from_cache = component is not None
    if component is None:
        component = _compiled(engine, wasm, limits.compilation)
    compile_seconds = time.perf_counter() - began
    footprint = read_footprint(wasm)
    bounds(footprint, limits.memory)
    imports = tuple(component.type.imports(engine.engine))
    _check_world(imports, component.type.exports(engine.engine))
    return ComponentModule(
        engine=engine,
        component=component,
        linker=engine.linker(imports),
        digest=hashlib.sha256(wasm).hexdigest(),
        size=len(wasm),
        imports=imports,
        footprint=footprint,
        producers=_producers(wasm),
        from_cache=from_cache,
        compile_seconds=compile_seconds,
    )


def _compiled(engine: ComponentEngine, wasm: bytes, limits: CompileLimits) -> Component:
    try:
        return compile_and_keep(Component, engine.engine, engine.settings, wasm, limits=limits)
    except WasmtimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        cause = "; ".join(line for line in lines if line and not line.endswith(":"))
        raise GuestLoadError(f"wasm: guest is not a valid component: {cause}") from None


def is_plugin_world(exports: Collection[str]) -> bool:
    """Whether a component with these exports is a plugin, possibly an invalid one."""
    return any(name in exports for name in _EXPORTS)


def _check_world(imports: tuple[str, ...], exports: Mapping[str, Any]) -> None:
    """Raises one GuestLoadError with all missing or wrong exports and all unknown imports."""
    if not is_plugin_world(exports) and any(name.startswith("wasi:cli/run@") for name in exports):
        raise GuestLoadError("wasm: the component is a WASI command, not a plugin; use `kubewasp wasi run`")
    problems = []
    for name, wanted in _EXPORTS.items():
        if name not in exports:
            problems.append(f"it does not export {name}: {wanted}")
            continue
        found = _described(exports[name].ty)
        if found != wanted:
            problems.append(f"it exports {name} as {found}, not as {wanted}")
    problems += [f"it imports {name}, which is not offered" for name in imports if not is_offered(name)]
    if problems:
        more = [f"and {len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
        raise GuestLoadError(
            f"wasm: the component does not fit the world {WORLD}: {'; '.join(problems[:_MOST_PROBLEMS] + more)}; "
            "build it with `kubewasp plugin build`"
        )


def _described(kind: Any) -> str:
    if not isinstance(kind, FuncType):
        return type(kind).__name__.removeprefix("Component").removesuffix("Type").lower()
    parameters = ", ".join(f"{name}: {_value(of)}" for name, of in kind.params)
    return f"func({parameters})" + ("" if kind.result is None else f" -> {_value(kind.result)}")


def _value(kind: Any) -> str:
    return type(kind).__name__.removesuffix("Type").lower()


def _producers(wasm: bytes) -> dict[str, list[str]]:
    try:
        return binary.producers(wasm)
    except binary.BinaryError:  # the runtime has accepted it
        return {}
