"""Access to the exported control globals of the test guests."""

from typing import cast

from wasmtime import Global

from kubewasp.wasm.ffi import find_export
from kubewasp.wasm.guest_cycle import GuestCycle
from tests.guests import GETTERS, HOOKS, MISBEHAVIOURS


def steer(cycle: GuestCycle, **values: int) -> None:
    for name, value in values.items():
        cycle.runner.set_guest_global(name, value)


def peek(cycle: GuestCycle, name: str) -> int:
    instance = cycle.runner
    return int(cast(Global, find_export(instance._store, instance._guest, name)).value(instance._store))


def getter(name: str) -> int:
    """The number by which `echo` knows a getter."""
    return GETTERS.index(name)


def bit(*hooks: str) -> int:
    """The value of `where` that stands for those hooks."""
    return sum(1 << HOOKS.index(hook) for hook in hooks)


def misbehave(cycle: GuestCycle, what: str, *hooks: str) -> None:
    """From now on the guest `misbehave` does that, in those hooks or in all."""
    steer(cycle, what=MISBEHAVIOURS.index(what), where=bit(*hooks) if hooks else -1)
