"""Annotations of a pushed plugin from the module itself: ABI, hooks, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from kubewasp.cli.plugin_inspect import kind_of
from kubewasp.errors import KubewaspError
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.formats import HOOKS, ComponentInterface
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.wasm.component.component_module import ComponentModule
    from kubewasp.wasm.guest_module import GuestModule
    from kubewasp.wasm.limits import Limits

_ABI: Final = "io.kubewasp.abi"
_MEMORY: Final = "io.kubewasp.memory"


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What a module tells of itself. `problem` is the reason why it is no usable plugin; empty for one."""

    annotations: Mapping[str, str]
    interface: ComponentInterface | None = None
    problem: str = ""


def module_facts(wasm: bytes, limits: Limits) -> ModuleFacts:
    """Facts of a module, which is compiled (or taken from the cache) and started, without a call of a hook."""
    try:
        program = load_guest_module(wasm, limits)
    except KubewaspError as error:
        return ModuleFacts({}, problem=str(error))
    found = {_ABI: kind_of(program)} | _memory(program)
    problem = ""
    hooks: tuple[str, ...] = tuple(program.hooks) if isinstance(program, CoreModule) else ()
    try:
        hooks = tuple(Guest(program, limits=limits).hooks)
    except KubewaspError as error:  # a configuration may be missing
        problem = str(error)
    if hooks:
        found[HOOKS] = ",".join(hooks)
    return ModuleFacts(found, _interface(program), problem)


def _memory(program: GuestModule) -> dict[str, str]:
    if not isinstance(program, CoreModule):
        return {}
    most = "" if program.memory_max_pages is None else f", {format_size(program.memory_max_pages * PAGE)} maximum"
    return {_MEMORY: f"{format_size(program.memory_pages * PAGE)} initial{most}"}


def _interface(program: GuestModule) -> ComponentInterface | None:
    if isinstance(program, CoreModule):
        return None
    component = cast("ComponentModule", program)
    exports = component.component.type.exports(component.engine.engine)
    return ComponentInterface(tuple(sorted(exports)), tuple(sorted(component.imports)))
