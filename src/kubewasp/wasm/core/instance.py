"""One running core module: store, shim, guest, adapter, and the calls between them and Python.  HOT PATH.

Implements `Runner`. An instance is used by one thread at a time; a second one is refused. After a failed call the
instance is broken and must be thrown away: the guest's memory may be in any state.
"""

from __future__ import annotations

import time
from struct import Struct
from typing import TYPE_CHECKING, cast

import numpy as np
from wasmtime import ExitTrap, Func, Global, Instance, Memory, Store, Table, Trap, WasiConfig, WasmtimeError

from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core import callbacks, polling
from kubewasp.wasm.core.abi import ADAPTER_IMPORTS, HOOKS, Hook
from kubewasp.wasm.core.call_guard import Entry
from kubewasp.wasm.core.node_records import pod_requests
from kubewasp.wasm.engine_settings import FUEL
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.failures import HookFailure, Overrun, TimeLimit, describe
from kubewasp.wasm.ffi import PAGE, AdapterCall
from kubewasp.wasm.hook_runner import CONFIG, EVENT, POD, POD_REQUESTS, SLOTS, WAITING_PODS, Calls
from kubewasp.wasm.klog import LogLine, structured
from kubewasp.wasm.pod_input import encoded_pod, parsed_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.core.guest_module import Program
    from kubewasp.wasm.core.node_memory import NodeMirror
    from kubewasp.wasm.guest_link import Link
    from kubewasp.wasm.hook_runner import AnyPod
    from kubewasp.wasm.limits import Limits

# Layout of the adapter's own memory; the first 4 KiB are described in adapter.wat.
_AFTER_RUN, _ONE_ROW, _ONE_RESULT, _SIGNATURE, _IMPLEMENTED = 1152, 1160, 1168, 1184, 1192
_CYCLE, _STATE, _EVENT, _NOW, _QUEUED_AT, _PODS, _SLOTS, _REGIONS = 1200, 1204, 1208, 1216, 1224, 1232, 1280, 4096
_NO_NUMBERS = bytes(_PODS - _STATE)
_RECORD = Struct("<IiiIII")
_LOG, _LOGS, _REASON = 1, 2, 3
_RESULT = np.dtype([("value", "<i8"), ("reason", "<i8")])
_PLACE = Struct("<Q")
_INT = Struct("<i")
_TIME = Struct("<q")
_LENGTHS = Struct("<II")
ASK = 2**64 - 1

# All but that of the configuration, which stays.
_SLOTS_OF_A_POD = ((_SLOTS, _SLOTS + 8 * CONFIG), (_SLOTS + 8 * (CONFIG + 1), _SLOTS + 8 * SLOTS))
_NO_SLOTS = bytes(8 * SLOTS)
RESULT_IMPORTS = (
    "result.cluster_events",
    "result.node_names",
    "result.nominated_node_name",
    "result.normalized_score_list",
    "handle.eventrecorder.eventf",
    "result.node_scores",
    "result.sort_key",
)
_KIND_OF_TYPE = {"": 0, "i32": 1, "i64": 2}
_KIND_OF_HOOK = {hook.index: _KIND_OF_TYPE[hook.answer.wasm_type] for hook in HOOKS.values()}
_FIRST_ROOM = 64
# A batch is at most so many times the one before: nobody knows how long a call takes before the first has returned.
_GROWTH = 64
_MAX_LINES = 1000
# A call that should take no longer keeps Python's lock. One that takes longer than expected is ended by its time limit:
# nothing else in the process runs until then, so that must not be much.
_SHORT = 0.0002
_LONGEST_WITH_LOCK = 2.0


class GuestInstance:
    """A guest that can be called. Made by the pool; see pool.py."""

    def __init__(
        self,
        program: Program,
        limits: Limits,
        *,
        link: Link,
        args: Sequence[str] = (),
        severity: int = 0,
        config_place: int = 0,
    ) -> None:
        self.program = program
        self.name = link.plugin
        self.broken = False
        self.bytes_written = 0
        self.measured = 0  # its memory, when the pool last looked
        self._fillers: dict[int, Callable[[], bytes]] = {}
        self._requests: Callable[[], bytes] = bytes
        self._limits = limits
        self._link = link
        # Asked in every call, and looked up among all imports: found out once.
        self._tells_time = program.uses("now")
        self._waits = program.uses("waiting_pods")
        self._wants_requests = program.uses("pod_requests")
        self._finds_by_name = program.uses_names
        self._wants_objects = program.uses_objects
        self._wants_images = program.uses_images
        self._wants_numbers = program.uses_numbers
        self._cycle_number = 0
        self._engine = program.engine
        self._entry = Entry(self, self.name, self._engine.ticker, self._engine.heap)
        self._deadline = 0.0
        self._callback_error: BaseException | None = None
        self._mirror: NodeMirror | None = None
        self._table: NodeTable | None = None
        self._listed: NDArray[np.int32] | None = None
        self._directory = 0
        self._paces: dict[int, int] = {}  # by hook: rows in a tenth of the time limit
        self._seconds_a_row: dict[int, float] = {}  # by hook, in its last call
        self._may_keep_lock = program.engine.ticker.needs_no_lock and limits.call_timeout <= _LONGEST_WITH_LOCK
        self._blocks: dict[int, tuple[int, int]] = {}
        self._kept = 0
        self._dropped = 0
        self._calls = _no_calls()
        self._build(args)
        self._lay_out(severity)
        _PLACE.pack_into(self._bytes, _SLOTS + 8 * CONFIG, config_place)
        self.start_logs = self._run_start()

    # ------------------------------------------------------------------ building

    def _build(self, args: Sequence[str]) -> None:
        engine, program = self._engine, self.program
        store = self._store = Store(engine.engine)
        store.set_epoch_deadline(engine.ticker.ticks(self._limits.start_timeout))
        if engine.fueled:
            store.set_fuel(FUEL)
        self._bound_memory(self._limits.memory)
        if program.uses_wasi:
            wasi = WasiConfig()
            wasi.argv = list(args)
            store.set_wasi(wasi)
        shim = Instance(store, engine.shim, []).exports(store)
        answered = {(item.module, item.name): shim[item.key] for item in ADAPTER_IMPORTS}
        imports = [answered.get(item) or engine.linker.get(store, *item) for item in program.imports]
        try:
            guest = Instance(store, program.module, imports).exports(store)
        except (WasmtimeError, Trap) as error:
            raise GuestLoadError(f"wasm: instantiate error: {str(error).strip()}") from None
        self._exports = guest
        self._memory = cast("Memory", guest["memory"])
        host = [engine.linker.get(store, "host", name) for name in callbacks.NAMES]
        adapter = Instance(store, engine.adapter, [self._memory, engine.heap.memory, shim["table"], *host])
        exports = self._adapter = adapter.exports(store)
        self._own = cast("Memory", exports["memory"])
        self._run = AdapterCall(store, cast("Func", exports["run"]), 7)
        self._sign = AdapterCall(store, cast("Func", exports["sign"]), 3)
        hooks = cast("Table", exports["hooks"])
        for hook in program.hooks.values():
            hooks.set(store, hook.index, guest[hook.name])

    def _bound_memory(self, size: int) -> None:
        """All limits at once: those that are left out would be lifted."""
        self._store.set_limits(memory_size=size, table_elements=1_000_000, instances=3, tables=32, memories=2)

    def _lay_out(self, severity: int) -> None:
        journal = max(self._limits.log, self._limits.reason) + 64 & -8
        at = _REGIONS
        for region, size in (("journal", journal), ("reason", self._limits.reason), ("output", self._limits.output)):
            self._set(region, at)
            self._set(f"{region}_limit", size)
            at = at + size + 7 & -8
        self._journal = self._get("journal")
        self._set("log_limit", self._limits.log)
        self._set("severity", severity)
        self._rows = at
        self._capacity = 0
        self._make_room(_FIRST_ROOM)

    def _make_room(self, rows: int) -> None:
        """Room for that many row numbers and results. The adapter's memory is not bounded by the guest's limit."""
        if rows <= self._capacity:
            return
        self._capacity = max(rows, 2 * self._capacity)
        self._listed = None
        self._results = self._rows + 4 * self._capacity + 15 & -16
        needed = self._results + _RESULT.itemsize * self._capacity
        pages = -(-needed // PAGE) - self._own.size(self._store)
        if pages > 0:
            self._bound_memory(2**32)
            self._own.grow(self._store, pages)
            self._bound_memory(self._limits.memory)
        self._bytes = memoryview(self._own.get_buffer_ptr(self._store)).cast("B")

    def _run_start(self) -> list[LogLine]:
        cast("Func", self._adapter["begin"])(self._store, 1)
        self._set_time()
        for name in self.program.start:
            with self._entry:
                self._arm(self._limits.start_timeout)
                error = self._guarded(cast("Func", self._exports[name]), self._store)
            if error is not None and not (isinstance(error, ExitTrap) and error.code == 0):
                failure = self._failure(name, error, self._limits.start_timeout)
                raise GuestLoadError(failure.text) from None
        self._read_journal(self._get("journal_len"))
        return self._calls.logs

    # ------------------------------------------------------------------ calling

    def take_pod(self, pod: AnyPod, nodes: Nodes, table: NodeTable | None) -> None:
        self._cycle_number = self._cycle_number + 1 & 0x7FFFFFFF
        _INT.pack_into(self._bytes, _CYCLE, self._cycle_number)
        self.set_value(POD, encoded_pod(pod))
        self._offer_requests(lambda: pod_requests(parsed_pod(pod), self._engine.resources))
        self._mirror = self._engine.mirror(nodes)
        self._table = table if self._wants_numbers else None
        self.sync()

    def _offer_requests(self, requests: Callable[[], bytes]) -> None:
        self._requests = requests
        if self._wants_requests:
            self.set_filler(POD_REQUESTS, requests)

    def sync(self) -> None:
        if self._table is not None and self._table.is_behind:
            self._table = NodeTable.of(self._table.objects)
        if self._mirror is not None:
            self._mirror.sync(
                by_name=self._finds_by_name, objects=self._wants_objects, images=self._wants_images, table=self._table
            )

    def set_value(self, slot: int, value: bytes | None) -> None:
        self._forget(slot)
        if value:
            heap = self._engine.heap
            with heap.lock:
                address = heap.place(value)
            self._blocks[slot] = (address, len(value))
            self.bytes_written += len(value)
            self._set_slot(slot, address | len(value) << 32)
        else:
            self._set_slot(slot, 0)

    def set_filler(self, slot: int, filler: Callable[[], bytes]) -> None:
        self._forget(slot)
        self._fillers[slot] = filler
        self._set_slot(slot, ASK)

    def clear(self) -> None:
        """Forgets the pod and all that belongs to it."""
        self._table = None
        self._requests = bytes
        for slot in list(self._blocks):
            self._forget(slot)
        self._fillers.clear()
        for start, stop in _SLOTS_OF_A_POD:
            self._bytes[start:stop] = _NO_SLOTS[: stop - start]
        self._bytes[_STATE:_PODS] = _NO_NUMBERS

    def take_signature(self) -> int:
        (signature,) = _PLACE.unpack_from(self._bytes, _SIGNATURE)
        _PLACE.pack_into(self._bytes, _SIGNATURE, 0)
        return int(signature)

    @property
    def implemented(self) -> int | None:
        """The hooks that the guest says it has, a bit each; None if it said nothing."""
        (hooks,) = _INT.unpack_from(self._bytes, _IMPLEMENTED)
        return int(hooks) & 0x7FFFFFFF if hooks else None

    def set_state(self, number: int) -> None:
        _INT.pack_into(self._bytes, _STATE, number)

    def set_event(self, resource: int, action: int) -> None:
        _LENGTHS.pack_into(self._bytes, _EVENT, resource, action)

    def set_queued_at(self, seconds: float) -> None:
        _TIME.pack_into(self._bytes, _QUEUED_AT, int(seconds * 1e9))

    def _set_time(self) -> None:
        if self._tells_time:
            _TIME.pack_into(self._bytes, _NOW, self._link.now_ns())

    def call(self, hook: Hook, *, row: int = -1) -> Calls:
        if row >= 0 or self._table is not None:
            self.sync()
        with self._entry:
            self._begin(1)
            _INT.pack_into(self._bytes, _ONE_ROW, row)
            self._run_batch(hook, _ONE_ROW, 0, 1, _ONE_RESULT, first=True)
            return self._finish(_ONE_RESULT)

    def call_rows(self, hook: Hook, rows: NDArray[np.int32] | int) -> Calls:
        self.sync()
        count = rows if isinstance(rows, int) else len(rows)
        with self._entry:
            self._make_room(count)
            self._begin(count)
            listed = 0 if isinstance(rows, int) else self._list_rows(rows)
            # As many as should take a tenth of the time limit: one, and then more as the guest turns out to be quick.
            # One that was quick with the pod before may go on with many at once, if the first node was quick again.
            done, batch, known = 0, 1, self._paces.get(hook.index, 0) // 10
            while done < count and self._calls.failure is None:
                until = min(count, done + batch)
                began = time.monotonic()
                at = self._results + _RESULT.itemsize * done
                self._run_batch(hook, listed, done, until, at, first=done == 0)
                spent = max(time.monotonic() - began, 1e-6)
                pace = int((until - done) * self._limits.call_timeout * 0.1 / spent)
                batch = max(1, min(pace, max((until - done) * _GROWTH, known)))
                done = until
                self._paces[hook.index] = pace
            return self._finish(self._results)

    def sign(self, pods: Sequence[AnyPod]) -> Calls:
        mirror, self._mirror = self._mirror, None  # a signature is of the pod alone
        requests = self._requests
        self._offer_requests(lambda: pod_requests(parsed_pod(pods[self._get("at")]), self._engine.resources))
        with self._entry:
            self._make_room(len(pods))
            self._begin(len(pods))
            block = self._place_pods([encoded_pod(pod) for pod in pods])
            self._called(HOOKS["signpod"], len(pods), self._sign, HOOKS["signpod"].index, self._results, len(pods))
            with self._engine.heap.lock:
                self._engine.heap.retire(*block)
            calls = self._calls
            calls.values = np.frombuffer(self._bytes, "<i8", len(calls.values), self._results).copy()
        self._mirror = mirror
        (self._cycle_number,) = _INT.unpack_from(self._bytes, _CYCLE)
        address, length = self._blocks.get(POD, (0, 0))
        self._set_slot(POD, address | length << 32)
        self._offer_requests(requests)
        return calls

    def _place_pods(self, pods: Sequence[bytes]) -> tuple[int, int]:
        """Puts pods side by side into the shared memory, and their places where the adapter looks for them."""
        heap, content = self._engine.heap, b"".join(pods)
        with heap.lock:
            address = heap.place(content)
        lengths = np.fromiter(map(len, pods), np.int64, len(pods))
        places = (address + lengths.cumsum() - lengths | lengths << 32).tobytes()
        self._bytes[self._results : self._results + len(places)] = places
        self.bytes_written += len(places) + len(content)
        return address, len(content)

    def _list_rows(self, rows: NDArray[np.int32]) -> int:
        """Where the row numbers stand. The same array as last time stands there already: nobody may change it."""
        if rows is not self._listed:
            content = np.ascontiguousarray(rows, np.int32).tobytes()
            self._bytes[self._rows : self._rows + len(content)] = content
            self.bytes_written += len(content)
            self._listed = rows
        return self._rows

    def _begin(self, count: int) -> None:
        self._calls = _no_calls(count)
        self._kept = self._dropped = 0
        self._set_directory()
        self._set_time()
        if self._waits:
            self.set_filler(WAITING_PODS, self._link.waiting_pods)

    def _set_directory(self) -> None:
        directory = 0 if self._mirror is None else self._mirror.directory
        if directory != self._directory:
            self._set("directory", directory)
            self._directory = directory

    def _run_batch(self, hook: Hook, rows: int, start: int, stop: int, results: int, *, first: bool) -> None:
        number = hook.index
        self._called(
            hook, stop - start, self._run, number, _KIND_OF_HOOK[number], rows, start, stop, results, int(first)
        )

    def _called(self, hook: Hook, count: int, function: AdapterCall, *arguments: int) -> None:
        """One call of the adapter, which calls the hook so many times."""
        self._arm(self._limits.call_timeout)
        number = hook.index
        # Others may not run meanwhile, but need not be waited for afterwards.
        function.keep_the_lock(self._may_keep_lock and self._seconds_a_row.get(number, 1.0) * count < _SHORT)
        began = time.perf_counter()
        error = self._guarded(function, *arguments)
        spent = time.perf_counter() - began
        self._seconds_a_row[number] = spent / count
        self._calls.seconds += spent
        if error is None:
            journal, output = _LENGTHS.unpack_from(self._bytes, _AFTER_RUN)
            if journal:
                self._read_journal(journal)
            self._calls.output = self.output() if output else ""
        else:
            self._read_journal(self._get("journal_len"))
            done = self._get("at")
            self._calls.values = self._calls.values[:done]
            self._calls.failure = self._failure(hook.name, error, self._limits.call_timeout)

    def _finish(self, results: int) -> Calls:
        calls, count = self._calls, len(self._calls.values)
        found = np.frombuffer(self._bytes, _RESULT, count, results)
        calls.values, calls.reason_numbers = found["value"].copy(), found["reason"].copy()
        if self._dropped:
            calls.logs.append(LogLine(1, f"{self._dropped} more log lines and events were dropped"))
        return calls

    def _guarded(self, function: Callable[..., object], *arguments: object) -> Exception | None:
        self._callback_error = None
        try:
            function(*arguments)
        except (WasmtimeError, Trap) as error:
            self._raise_interrupt()
            return error.with_traceback(None)  # whose frames would keep a broken instance and its memory
        return None

    def _raise_interrupt(self) -> None:
        """Ctrl-C in a callback ends the call and is not the guest's failure."""
        if isinstance(self._callback_error, KeyboardInterrupt | SystemExit):
            self.broken = True
            raise self._callback_error

    def _arm(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._store.set_epoch_deadline(self._engine.ticker.ticks(seconds))

    # ------------------------------------------------------------------ after a call

    def _failure(self, hook: str, error: Exception, seconds: float) -> HookFailure:
        self.broken = True
        return describe(
            error,
            hook=hook,
            plugin=self.name,
            callback_error=self._callback_error,
            refused=self._get("refused_len") & 0xFFFFFFFF,
            output=self.output(),
            memory=self.memory_bytes,
            limits=self._limits,
            seconds=seconds,
        )

    def output(self) -> str:
        """What the last call wrote to stdout and stderr."""
        length, dropped = self._get("output_len"), self._get("output_dropped")
        start = self._get("output")
        text = bytes(self._bytes[start : start + length]).decode("utf-8", "replace")
        return f"{text}… ({dropped} more bytes)" if dropped else text

    def _read_journal(self, length: int) -> None:
        at, end = self._journal, self._journal + length
        calls, view = self._calls, self._bytes
        while at < end:
            kind, _row, severity, message, size, _ = _RECORD.unpack_from(view, at)
            at += _RECORD.size
            if kind == _REASON:
                calls.reasons.append(str(view[at : at + size], "utf-8", "replace"))
            elif not self._keeps(len(calls.logs), size):
                self._dropped += 1
            elif kind == _LOG:
                calls.logs.append(LogLine(severity, str(view[at : at + size], "utf-8", "replace")))
            else:
                content = bytes(view[at : at + size])
                calls.logs.append(LogLine(severity, structured(content[:message], content[message:])))
            at += size + 7 & -8

    def _keeps(self, lines: int, size: int) -> bool:
        """Whether there is room for one more log line or event: both their number and their bytes are bounded."""
        if lines >= _MAX_LINES or self._kept + size > self._limits.payload:
            return False
        self._kept += size
        return True

    # ------------------------------------------------------------------ callbacks.Servant

    def fill(self, slot: int) -> None:
        filler = self._fillers[slot]
        self.set_value(slot, filler())
        self._fillers[slot] = filler  # for the next pod that is signed

    def drain(self) -> None:
        self._read_journal(self._get("journal_len"))

    def receive(self, kind: int, buf: int, length: int) -> None:
        payload = self.read(buf, length, RESULT_IMPORTS[kind])
        if kind != EVENT:
            self._calls.received[kind] = payload
        elif self._keeps(len(self._calls.events), length & 0xFFFFFFFF):
            self._calls.events.append(payload)
        else:
            self._dropped += 1

    def waiting_pod(self, reject: int, uid: int, uid_length: int, buf: int, limit: int) -> None:
        what = "handle.reject_waiting_pod" if reject else "handle.get_waiting_pod"
        name = self.read(uid, uid_length, what).decode("utf-8", "replace")
        handle = self._link.handle
        found = handle.reject_waiting_pod(name).to_bytes(8, "little") if reject else handle.get_waiting_pod(name)
        answer = found or bytes(8)
        if len(answer) <= limit & 0xFFFFFFFF:
            self.write(buf, answer, what)

    def decide_waiting_pod(self, reject: int, uid: int, uid_length: int, reason: int, reason_length: int) -> int:
        what = "reject_waiting_pod" if reject else "allow_waiting_pod"
        name = self.read(uid, uid_length, what).decode("utf-8", "replace")
        if not reject:
            return int(self._link.allow(name))
        return int(self._link.reject(name, self.read(reason, reason_length, what).decode("utf-8", "replace")))

    def resource(self, name: int, length: int) -> int:
        ids = self._engine.resources
        known = len(ids.names)
        number = self._link.resource(self.read(name, length, "resource").decode("utf-8", "replace"), ids)
        if number >= known:  # what a hook reads from here on has the number
            self.sync()
            self._set_directory()
            self._offer_requests(self._requests)
        return number

    def fill_pods(self, row: int) -> None:
        _PLACE.pack_into(self._bytes, _PODS, cast("NodeMirror", self._mirror).place_pods(row))

    def poll(self, subscriptions: int, events: int, count: int, written: int) -> int:
        if not 0 < count <= 1024:
            return polling.EINVAL
        asked = self.read(subscriptions, count * polling.SUBSCRIPTION_SIZE, "poll_oneoff")
        delay, answer = polling.answer(asked, count)
        left = self._deadline - time.monotonic()
        if delay > left:
            time.sleep(max(left, 0))
            raise TimeLimit
        time.sleep(delay)
        self.write(events, answer, "poll_oneoff")
        self.write(written, (len(answer) // polling.EVENT_SIZE).to_bytes(4, "little"), "poll_oneoff")
        return 0

    def failed(self, error: BaseException) -> None:
        self._callback_error = error.with_traceback(None)  # as in _guarded

    # ------------------------------------------------------------------ memory and globals

    @property
    def memory_bytes(self) -> int:
        return self._memory.data_len(self._store)

    @property
    def fuel_burnt(self) -> int:
        return FUEL - self._store.get_fuel() if self._engine.fueled else 0

    def read(self, address: int, length: int, what: str) -> bytes:
        address, length = address & 0xFFFFFFFF, length & 0xFFFFFFFF
        if length > self._limits.payload:
            raise Overrun(what, length, self._limits.payload)
        if address + length > self.memory_bytes:
            raise IndexError(what)
        return bytes(self._memory.read(self._store, address, address + length)) if length else b""

    def write(self, address: int, value: bytes, what: str) -> None:
        address &= 0xFFFFFFFF
        if address + len(value) > self.memory_bytes:
            raise IndexError(what)
        if value:
            self._memory.write(self._store, value, address)

    def set_guest_global(self, name: str, value: int) -> None:
        found = self._exports.get(name, None)
        if not isinstance(found, Global):
            raise GuestLoadError(f'wasm: guest does not export a global "{name}"')
        if not found.type(self._store).mutable:
            raise GuestLoadError(f'wasm: the exported global "{name}" is not mutable')
        try:
            if not isinstance(found.value(self._store), int | float):  # asking a vector for its type ends the process
                raise TypeError("it is no number")
            found.set_value(self._store, value)
        except (WasmtimeError, TypeError, OverflowError) as error:
            raise GuestLoadError(f'wasm: global "{name}" cannot be set to {value}: {error}') from None

    def _get(self, name: str) -> int:
        return int(cast("Global", self._adapter[name]).value(self._store))

    def _set(self, name: str, value: int) -> None:
        cast("Global", self._adapter[name]).set_value(self._store, value)

    def _set_slot(self, slot: int, place: int) -> None:
        _PLACE.pack_into(self._bytes, _SLOTS + 8 * slot, place)

    def _forget(self, slot: int) -> None:
        self._fillers.pop(slot, None)
        block = self._blocks.pop(slot, None)
        if block is not None:
            with self._engine.heap.lock:
                self._engine.heap.retire(*block)

    def __del__(self) -> None:
        for slot in list(getattr(self, "_blocks", ())):
            self._forget(slot)


def _no_calls(count: int = 0) -> Calls:
    values = np.zeros(count, np.int64)
    return Calls(values, values, [])
