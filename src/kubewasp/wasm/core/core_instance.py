"""One running core module: store, shim, guest, adapter, and calls of its hooks.  HOT PATH (guard: make counts).

After a failed call an instance is broken and must be dropped: the guest's memory may be in any state.
"""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from wasmtime import ExitTrap, Func, Global, Instance, Store, Table, Trap, WasiConfig, WasmtimeError

from kubewasp.wasm import cycle_time
from kubewasp.wasm.core import callbacks
from kubewasp.wasm.core.abi import ADAPTER_IMPORTS, WASI
from kubewasp.wasm.core.adapter_layout import (
    IMPLEMENTED,
    INT32,
    INT32_TRIPLE,
    KIND_OF_HOOK,
    NORMALIZATION,
    ONE_RESULT,
    ONE_ROW,
    PLACE,
    POD_FIELDS,
    POD_READ,
    PURE,
    RESULT,
    SIGNATURE,
)
from kubewasp.wasm.core.adapter_memory import AdapterMemory
from kubewasp.wasm.core.call_gate import CallGate
from kubewasp.wasm.core.call_output import CallOutput
from kubewasp.wasm.core.callbacks import GuestMemory, InstanceCallbacks
from kubewasp.wasm.core.core_failures import described
from kubewasp.wasm.core.core_inputs import CoreInputs
from kubewasp.wasm.cycle_time import IN_CYCLE, CycleTime
from kubewasp.wasm.deadlines import CallDeadline
from kubewasp.wasm.engine_settings import FUEL
from kubewasp.wasm.errors import GuestLoadError, GuestStartError
from kubewasp.wasm.ffi import PAGE, AdapterCall, address_of, exported_function, exported_memory, find_export
from kubewasp.wasm.footprint import HostModules, bounds
from kubewasp.wasm.guest_log import NO_LOG, START, HookLog
from kubewasp.wasm.guest_runner import Purity
from kubewasp.wasm.hooks import ANNOTATING_HOOKS, HOOKS
from kubewasp.wasm.load_checks import GUARD
from kubewasp.wasm.load_deadline import LoadDeadline
from kubewasp.wasm.pod_fields import PodFields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kubewasp.framework.handle import Handle
    from kubewasp.wasm.core.core_module import CoreModule
    from kubewasp.wasm.core.node_records import GuestResources
    from kubewasp.wasm.deadlines import Deadline
    from kubewasp.wasm.footprint import Bounds
    from kubewasp.wasm.guest_log import GuestLog, GuestLogSink
    from kubewasp.wasm.guest_runner import AnyPod, GuestSettings, HookOutcome
    from kubewasp.wasm.hook_failures import HookFailure, TimeSetting
    from kubewasp.wasm.hooks import Hook
    from kubewasp.wasm.limits import Limits
    from kubewasp.wasm.repeatable import GuestSource


# A batch is at most this many times the previous one: the duration of a call is unknown before the first has returned.
_GROWTH = 64
# A call that should be shorter keeps Python's lock. One that turns out longer ends at its time limit, and nothing else
# in the process runs until then: the limit must not be long.
_SHORT = 0.0002
_LONGEST_WITH_LOCK = 2.0
# Shim and adapter: two instances, two tables, a memory.
_HOST = HostModules(instances=2, tables=2, memories=1, table_elements=128)
_GUARDED = replace(_HOST, memories=2)


class CoreInstance:
    """An instance of a guest. Implements `GuestRunner`; made by the pool (core_pool.py)."""

    def __init__(
        self,
        module: CoreModule,
        limits: Limits,
        settings: GuestSettings,
        *,
        handle: Handle,
        logs: GuestLogSink,
        resources: GuestResources,
        config_place: int = 0,
        source: GuestSource | None = None,
    ) -> None:
        self.name = settings.name
        self.broken = False
        self.measured = 0  # its memory, at the pool's last look
        self.idle_since = 0.0
        self.served = 0  # pods
        self.cycle_time = CycleTime(limits)
        self._limits = limits
        self._positions = module.positions
        self._engine = engine = module.engine
        self._store = store = Store(engine.engine)
        loads, watch = (LoadDeadline() if engine.load_checks else None), engine.watch
        epochs = functools.partial(CallDeadline, store)
        self._deadline: Deadline = loads or epochs(watch=None if watch is None else functools.partial(watch, store))
        self._deadline.arm(limits.start_timeout)
        if engine.fueled:
            store.set_fuel(FUEL)
        self._bounds = limited = bounds(module.footprint, limits.memory, _GUARDED if loads else _HOST)
        is_repeatable = source is not None
        self._guest, adapter = _instantiated(store, module, limited, settings.args, is_repeatable=is_repeatable)
        if loads is not None:
            loads.guard(address_of(store, exported_memory(store, self._guest, GUARD.encode())))
        self._run = AdapterCall(store, cast("Func", adapter["run"]), 7)
        self._sign = AdapterCall(store, cast("Func", adapter["sign"]), 3)
        self._memory = AdapterMemory(store, adapter, limits, limited, severity=settings.log_severity)
        self.guest_memory = GuestMemory(store, exported_memory(store, self._guest, b"memory"), limits.payload)
        self.inputs = CoreInputs(self._memory, module, handle, config_place)
        self._output = CallOutput(self._memory, limits)
        self._callbacks = InstanceCallbacks(
            self.name,
            self.guest_memory,
            inputs=self.inputs,
            output=self._output,
            resources=resources,
            deadline=self._deadline,
            source=source,
        )
        self._gate = CallGate(self.name, engine, loads or engine.ticker, self._deadline, self._callbacks)
        self._paces: dict[int, int] = {}  # by hook: rows in a tenth of the time limit
        self._seconds_per_row: dict[int, float] = {}  # by hook, in its last call
        needs_no_lock = loads is not None or engine.ticker.needs_no_lock
        self._may_keep_lock = needs_no_lock and limits.call_timeout <= _LONGEST_WITH_LOCK
        cast("Func", adapter["begin"])(store, 1)
        self.start_log = self._started(module, handle, logs)

    def _started(self, module: CoreModule, handle: Handle, logs: GuestLogSink) -> GuestLog:
        """Runs the start functions; returns their log, which goes to the sink also if one of them fails."""
        self.inputs.set_time()
        failed: GuestStartError | None = None
        for name in module.start_functions:
            with self._gate:
                start = exported_function(self._store, self._guest, name.encode())
                error = self._gate.run(self._limits.start_timeout, start, self._store)
            if error is not None and not (isinstance(error, ExitTrap) and error.code == 0):
                # A guest that reads its configuration ends with code 1 to refuse it; a panic of Go has code 2.
                refused = isinstance(error, ExitTrap) and error.code == 1 and module.reads_config
                text = self._failure(name, error, "start_timeout").text
                failed = GuestStartError(text, refused=refused)
                break
        self._output.read_rest()
        log = self._output.outcome.log
        if log is not NO_LOG:
            logs.write(HookLog(self.name, START, "", handle.clock.wall(), log, is_failed=failed is not None))
        if failed is not None:
            raise failed
        return log

    # ------------------------------------------------------------------ calls

    def call(self, hook: Hook, *, row: int = -1) -> HookOutcome:
        self.inputs.sync_for(row)
        with self._gate:
            self._output.begin(1, may_annotate=hook.name in ANNOTATING_HOOKS)
            self.inputs.begin_call()
            INT32.pack_into(self._memory.view, ONE_ROW, row)
            number = hook.index
            if self.cycle_time.left > 0 or not self._is_over(hook, 0):
                self._called(hook, 1, self._run, number, KIND_OF_HOOK[number], ONE_ROW, 0, 1, ONE_RESULT, 1)
            return self._output.finish(ONE_RESULT)

    def call_rows(self, hook: Hook, rows: NDArray[np.int64] | int) -> HookOutcome:
        self.inputs.sync()
        count = rows if isinstance(rows, int) else len(rows)
        memory, number, kind = self._memory, hook.index, KIND_OF_HOOK[hook.index]
        with self._gate:
            memory.make_room(count)
            self._output.begin(count)
            self.inputs.begin_call()
            listed = 0 if isinstance(rows, int) else memory.list_rows(rows)
            # A batch should take a tenth of the time limit: the first is one row, later ones grow with the guest's
            # pace. If the guest was fast for the previous pod and is for the first row, the second batch is large.
            done, batch, known = 0, 1, self._paces.get(number, 0) // 10
            while done < count and self._output.outcome.failure is None:
                if self.cycle_time.left <= 0 and self._is_over(hook, done):
                    break
                until = min(count, done + batch)
                at = memory.results + RESULT.itemsize * done
                spent = self._called(
                    hook, until - done, self._run, number, kind, listed, done, until, at, 1 if done == 0 else 0
                )
                pace = int((until - done) * self._limits.call_timeout * 0.1 / (spent or 1e-6))
                batch = max(1, min(pace, max((until - done) * _GROWTH, known)))
                done = until
                self._paces[number] = pace
            return self._output.finish(memory.results)

    def sign(self, pods: Sequence[AnyPod]) -> HookOutcome:
        hook = HOOKS["signpod"]
        with self._gate:
            self._memory.make_room(len(pods))
            self._output.begin(len(pods))
            self.inputs.begin_signing(pods)
            self._called(hook, len(pods), self._sign, hook.index, self._memory.results, len(pods))
            self.inputs.end_signing()
            return self._output.finish_signing()

    def _is_over(self, hook: Hook, done: int) -> bool:
        """Fails a hook of a pod that has no time left: the outcome has the values of the rows before."""
        if not IN_CYCLE[hook.index]:
            return False
        outcome = self._output.outcome
        outcome.values = outcome.values[:done]
        outcome.failure = self.cycle_time.exceeded(hook.name, self.name)
        self.broken = True
        return True

    def _called(self, hook: Hook, count: int, function: AdapterCall, *arguments: int) -> float:
        """One call of the adapter, which calls the hook `count` times; returns its seconds."""
        number, output = hook.index, self._output
        allowed, is_timed = self._limits.call_timeout, IN_CYCLE[number]
        if is_timed and self.cycle_time.left < allowed:
            allowed = self.cycle_time.left
        # With the lock kept, no other thread runs meanwhile, and none has to be waited for afterwards.
        function.keep_lock(self._may_keep_lock and self._seconds_per_row.get(number, 1.0) * count < _SHORT)
        began, began_cpu = time.perf_counter(), cycle_time.cpu_time()
        error = self._gate.run(allowed, function, *arguments)
        spent = time.perf_counter() - began
        if is_timed:
            self.cycle_time.left -= cycle_time.cpu_time() - began_cpu + self._deadline.slept
        self._seconds_per_row[number] = spent / count
        output.outcome.seconds += spent
        if error is None:
            output.read_batch()
        else:
            output.read_rest()
            output.outcome.values = output.outcome.values[: self._memory.get("at")]
            node = self.inputs.node_name(self._memory.get("row"))
            setting: TimeSetting = "cycle_timeout" if allowed < self._limits.call_timeout else "call_timeout"
            output.outcome.failure = self._failure(hook.name, error, setting, node)
        return spent

    def _failure(self, hook: str, error: Exception, setting: TimeSetting, node: str = "") -> HookFailure:
        self.broken = True
        stopped = self._callbacks.error or self._deadline.interrupt
        if isinstance(stopped, KeyboardInterrupt | SystemExit):  # not a failure of the guest
            raise stopped
        return described(
            error,
            hook=hook,
            plugin=self.name,
            callback_error=stopped,
            timed_out=self._deadline.is_over,
            refused=self._memory.get("refused_len") & 0xFFFFFFFF,
            output=self._memory.output(),
            memory=self.memory_bytes,
            limits=self._limits,
            setting=setting,
            node=node,
            positions=self._positions,
        )

    # ------------------------------------------------------------------ state

    @property
    def memory_bytes(self) -> int:
        return self.guest_memory.size + self._bounds.counted

    @property
    def bytes_written(self) -> int:
        """Bytes that Python has written for this instance."""
        return self._memory.bytes_written

    @property
    def fuel_burnt(self) -> int:
        return FUEL - self._store.get_fuel() if self._engine.fueled else 0

    @property
    def implemented(self) -> int | None:
        """The hooks that the guest reports as implemented, a bit each; None if it reports none."""
        (hooks,) = INT32.unpack_from(self._memory.view, IMPLEMENTED)
        return int(hooks) & 0x7FFFFFFF if hooks else None

    @property
    def purity(self) -> Purity | None:
        """The guest's declaration that it is pure."""
        (purity,) = INT32.unpack_from(self._memory.view, PURE)
        return Purity(reports=purity > 1) if purity else None

    def pod_fields(self) -> PodFields:
        return PodFields(*POD_FIELDS.unpack_from(self._memory.view, POD_READ))

    @property
    def normalization(self) -> tuple[int, int, int] | None:
        """The method, reverse and maximum of the normalization that the guest declares."""
        method, reverse, maximum = INT32_TRIPLE.unpack_from(self._memory.view, NORMALIZATION)
        return (method - 1, reverse, maximum) if method else None

    def take_signature(self) -> int:
        (signature,) = PLACE.unpack_from(self._memory.view, SIGNATURE)
        PLACE.pack_into(self._memory.view, SIGNATURE, 0)
        return int(signature)

    def set_guest_global(self, name: str, value: int) -> None:
        found = find_export(self._store, self._guest, name)
        if not isinstance(found, Global):
            raise GuestLoadError(f'wasm: guest does not export a global "{name}"')
        if not found.type(self._store).mutable:
            raise GuestLoadError(f'wasm: the exported global "{name}" is not mutable')
        try:
            if not isinstance(found.value(self._store), int | float):  # the type of a vector ends the process
                raise TypeError("it is no number")
            found.set_value(self._store, value)
        except (WasmtimeError, TypeError, OverflowError) as error:
            raise GuestLoadError(f'wasm: global "{name}" cannot be set to {value}: {error}') from None


def _instantiated(
    store: Store, module: CoreModule, limited: Bounds, args: Sequence[str], *, is_repeatable: bool
) -> tuple[Instance, Mapping[str, object]]:
    """The guest, and the exports of its adapter."""
    engine = module.engine
    if module.uses_wasi:
        wasi = WasiConfig()
        wasi.argv = list(args)
        store.set_wasi(wasi)
    shim = Instance(store, engine.shim, []).exports(store)
    answered = {(item.module, item.name): shim[item.key] for item in ADAPTER_IMPORTS}
    if is_repeatable:
        answered |= {(WASI, name): engine.linker.get(store, "repeatable", name) for name in callbacks.REPEATABLE}
    imports = [answered.get(item) or engine.linker.get(store, *item) for item in module.imports]
    # No code runs meanwhile, and a guest that begins above its limit was refused: the guard needs a page.
    limited.apply(store, memory_size=max(limited.memory_size, PAGE))
    try:
        guest = Instance(store, module.compiled, imports)
    except (WasmtimeError, Trap) as error:
        raise GuestLoadError(f"wasm: instantiate error: {str(error).strip()}") from None
    host = [engine.linker.get(store, "host", name) for name in callbacks.NAMES]
    memory = exported_memory(store, guest, b"memory")
    guards = [exported_memory(store, guest, GUARD.encode())] if engine.load_checks else []
    limited.apply(store, memory_size=2**32)  # the adapter's memory is the host's
    adapter = Instance(store, engine.adapter, [memory, engine.heap.memory, shim["table"], *host, *guards])
    limited.apply(store)
    exports = adapter.exports(store)
    hooks = cast("Table", exports["hooks"])
    for hook in module.hooks.values():
        hooks.set(store, hook.index, exported_function(store, guest, hook.name.encode()))
    return guest, exports
