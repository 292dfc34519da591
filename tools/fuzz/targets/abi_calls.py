"""Host calls with any numbers, through the adapter: an answer or a failed hook, and no other effect.

Each input is one call with exact checks, and CALLS random calls in one hook. The first byte chooses the import, the
next ones its arguments: edges of the guest's memory, or four bytes each. The random calls follow from the whole input.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.codec import encode
from kubewasp.wasm.core.abi import EXTENSION_IMPORTS
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import KIB, Limits
from tests import samples
from tests.guests import EXTENSION, IMPORTS
from tests.guests.build import wat_text
from tests.wasm.core import abi_checks
from tests.wasm.fakes import FakeHandle
from tests.wasm.steering import peek, steer
from tools.fuzz import calling_guest
from tools.fuzz.hook_calls import HOOK_CALLS, ReadingSink
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.guest_module import GuestModule

CALLS: Final = 1000
# Of 256 numbers, as many are edges or any number: the fewer, the more calls until one fails.
_WILD: Final = (0, 1, 2, 4, 8, 16, 64, 255)
_HOOKS: Final = tuple(HOOK_CALLS)
# An engine apart, with its own resources; time limits would depend on the machine.
_LIMITS: Final = Limits(call_timeout=600, cycle_timeout=600, stack=1024 * KIB + 12 * KIB)


def seeds() -> Iterator[bytes]:
    for which in range(len(IMPORTS) + len(EXTENSION)):
        yield bytes([which, *range(8, 13)])
        yield bytes([which, *range(5)])


def one(data: bytes) -> str:
    """Calls imports. AssertionError for an effect that they must not have."""
    which = data[0] % (len(IMPORTS) + len(EXTENSION)) if data else 0
    arguments = list(_arguments(data[1:]))
    if which < len(IMPORTS):
        failed = abi_checks.check_import(abi_checks.SMALL, which, arguments[: IMPORTS[which][2]])
    else:
        number = which - len(IMPORTS)
        parameters = len(EXTENSION_IMPORTS[number].parameters)
        failed = abi_checks.check_extension(abi_checks.SMALL, number, arguments[:parameters])
    exact = error_label(ValueError(failed.splitlines()[0])) if failed else f"import {which}"
    return f"{exact}; {_make_calls(data)}"


def signed(number: int) -> int:
    """As i32."""
    return (number + 2**31) % 2**32 - 2**31


def _arguments(data: bytes) -> Iterator[int]:
    """Five arguments: a byte below 128 is the number of an edge, another one is followed by the number itself."""
    known, at = calling_guest.edges(), 0
    for _ in range(5):
        kind = data[at] if at < len(data) else 0
        if kind < 128:
            yield signed(known[kind % len(known)])
            at += 1
        else:
            yield signed(int.from_bytes(data[at + 1 : at + 5], "little"))
            at += 5


@functools.cache
def _module() -> GuestModule:
    return load_guest_module(wat_text(calling_guest.wat(), "calling").read_bytes(), _LIMITS)


def _guest() -> Guest:
    """A guest of its own for each input: it may name some resources only."""
    return Guest(_module(), name="fuzzed", config="a config", limits=_LIMITS, logs=ReadingSink())


@functools.cache
def _waiting() -> bytes:
    return encode("Pod", samples.pod("waiting"))


def _make_calls(data: bytes) -> str:
    """Makes the random calls; each that fails ends its instance, and the next one goes on."""
    chosen = hashlib.blake2b(data, digest_size=10).digest()
    random, hook, wild = int.from_bytes(chosen[:8], "little") or 1, chosen[8], chosen[9]
    guest, left, causes = _guest(), CALLS, set[str]()
    while left:
        handle = FakeHandle({"uid-waiting": _waiting()})
        with guest.cycle(samples.pod(), abi_checks.table(), handle=handle) as cycle:
            steer(cycle, random=(random + 2**63) % 2**64 - 2**63, left=left, wild=_WILD[wild % len(_WILD)])
            HOOK_CALLS[_HOOKS[hook % len(_HOOKS)]](cycle)
            random, left = peek(cycle, "random") % 2**64, peek(cycle, "left")
            causes.add(_checked(cycle))
    return ", ".join(sorted(causes))


def _checked(cycle: GuestCycle) -> str:
    """The kind of failure."""
    assert abi_checks.own_texts(cycle) == abi_checks.FIXED_TEXTS, "the adapter's own texts"
    assert abi_checks.shared_nodes(cycle) == abi_checks.table_nodes()
    failure = cycle.hooks.failure
    if failure is None:
        return "returned"
    assert failure.kind != "host", failure.text
    assert '(plugin "fuzzed")' in failure.text
    return failure.kind
