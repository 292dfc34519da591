"""Guest forms, run as in the scheduler, and the counts of a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, cast

from kubewasp.clock import SystemClock
from kubewasp.framework.cycle_state import CycleState, StateKey
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.wasm.component.component_engine import component_engine
from kubewasp.wasm.component.component_instance import ComponentInstance
from kubewasp.wasm.component.component_pool import ComponentPool
from kubewasp.wasm.core import callbacks
from kubewasp.wasm.core.callbacks import InstanceCallbacks
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.core_inputs import CoreInputs
from kubewasp.wasm.core.core_instance import CoreInstance
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.core.core_pool import CorePool
from kubewasp.wasm.ffi import AdapterCall
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.plugin import WasmPlugin
from tools.bench import guests
from tools.bench.forms.form import PODS, TableForm
from tools.bench.forms.watching import Point, Watch

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.wasm.guest_cycle import GuestCycle
    from tools.bench.forms.form import Answers
    from tools.bench.policies.clusters import Cluster

# Longer than the default: a busy machine should not end a measurement.
_LIMITS: Final = Limits(call_timeout=5)
# The size of a batch of nodes follows from the time limit. For fuel counts the limit is so long (beyond the range of
# the configuration) that batches do not depend on time.
_UNHURRIED: Final = Limits()
object.__setattr__(_UNHURRIED, "call_timeout", 1e6)


class _Standstill:
    """A constant clock, for fuel counts."""

    def now(self) -> float:
        return 0.0

    def wall(self) -> float:
        return 1_800_000_000.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one cycle: fuel, bytes to the guest, calls from Python into wasm and from wasm to Python."""

    fuel: int
    bytes_copied: int
    calls_in: int
    calls_out: int


class GuestForm(TableForm):
    """A guest of the policy, or another file `wasm`. `fueled` counts fuel, which takes time."""

    language: ClassVar[str]
    is_component: ClassVar[bool] = False
    plugin: WasmPlugin

    def __init__(self, policy: str, cluster: Cluster, *, fueled: bool = False, wasm: Path | None = None) -> None:
        super().__init__(policy, cluster)
        self.wasm = wasm or guests.guest(policy, self.language)
        self.fueled = fueled
        self.limits = _UNHURRIED if fueled else _LIMITS
        clock = _Standstill() if fueled else SystemClock()
        self._handle = compose(Environment(clock=clock, client=ReadOnlyClient(), table=self.table)).handle

    @property
    def guest(self) -> Guest:
        return self.plugin.guest

    def prepare(self) -> None:
        """Creates the engine, common to all guests."""
        make = component_engine if self.is_component else core_engine
        make(self.limits.stack, fueled=self.fueled)

    def make(self, *, use_cache: bool) -> WasmPlugin:
        if self.fueled:
            program = load_guest_module(self.wasm.read_bytes(), self.limits, use_cache=use_cache, fueled=True)
            guest = Guest(program, name=self.policy, limits=self.limits)
        else:
            guest = Guest.load(self.wasm, name=self.policy, limits=self.limits, use_cache=use_cache)
        return WasmPlugin(self.policy, guest, self._handle)

    @property
    def guest_memory(self) -> int:
        return self.guest.pool.memory_bytes

    def counted(self, pod: int) -> tuple[Answers, Counts]:
        """A cycle and its counts. Fuel is 0 without `fueled`."""
        heap = self._heap_bytes()
        with Watch(COUNTED) as watch:
            state = CycleState()
            answers = self.ask(state, self.pods[pod % PODS])
            key: StateKey[GuestCycle] = StateKey(self.policy)
            runner = cast("GuestCycle", state.shared(key)).runner
            burnt = runner.fuel_burnt
            if isinstance(runner, CoreInstance):
                # Values lie in the heap and are in both counts.
                watch.amounts["bytes"] += runner.bytes_written - watch.amounts["before"] - watch.amounts["values"]
            state.close()
        return answers, Counts(
            fuel=burnt - watch.amounts["burnt"],
            bytes_copied=self._heap_bytes() - heap + watch.amounts["bytes"],
            calls_in=watch.counts["in"] + watch.counts["bytes"],
            calls_out=watch.counts["out"],
        )

    def _heap_bytes(self) -> int:
        program = self.guest.module
        return program.engine.heap.bytes_written if isinstance(program, CoreModule) else 0


class Go(GuestForm):
    language = "go"


class TinyGo(GuestForm):
    language = guests.TINYGO


class Rust(GuestForm):
    language = "rust"


class C(GuestForm):
    language = "c"


class Python(GuestForm):
    language = "python"
    is_component = True


class JavaScript(GuestForm):
    language = "javascript"
    is_component = True


class Wat(GuestForm):
    language = "wat"


def _exchanged(answer: str, _instance: object, request: str, **_: object) -> int:
    return len(request.encode()) + len(answer.encode())


def _value(_: None, _instance: object, _slot: int, value: bytes | None) -> int:
    return len(value or b"")


COUNTED: Final = (
    Point(CorePool, "acquire", "burnt", lambda runner, _: runner.fuel_burnt),
    Point(ComponentPool, "acquire", "burnt", lambda runner, _: runner.fuel_burnt),
    Point(CorePool, "acquire", "before", lambda runner, _: runner.bytes_written),
    Point(CoreInputs, "set_value", "values", _value),
    Point(AdapterCall, "__call__", "in"),
    Point(ComponentInstance, "exchange", "bytes", _exchanged),
    *(Point(InstanceCallbacks, name, "out") for name in callbacks.NAMES),
)
