"""Inputs of a core module's hooks: pod, nodes, values by slot, numbers.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.adapter_layout import (
    CYCLE,
    EVENT,
    INT32,
    INT32_PAIR,
    INT64,
    NODE_PODS,
    NOW,
    PLACE,
    QUEUED_AT,
    SCORES,
    SCORES_SENT,
    SLOTS,
    STATE,
    UNFILLED,
)
from kubewasp.wasm.core.node_records import pod_list, pod_requests
from kubewasp.wasm.guest_runner import encoded_pod, parsed_pod
from kubewasp.wasm.hooks import CONFIG, INPUTS, POD, POD_REQUESTS, WAITING_PODS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.framework.handle import Handle
    from kubewasp.framework.plugin import Scores
    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.core.adapter_memory import AdapterMemory
    from kubewasp.wasm.core.core_module import CoreModule
    from kubewasp.wasm.core.shared_nodes import SharedNodes
    from kubewasp.wasm.guest_runner import AnyPod

# All slots but that of the configuration, which stays from pod to pod.
_SLOTS_OF_A_POD = ((SLOTS, SLOTS + 8 * CONFIG), (SLOTS + 8 * (CONFIG + 1), SLOTS + 8 * len(INPUTS)))
_NO_SLOTS = bytes(8 * len(INPUTS))
_NO_NUMBERS = bytes(NODE_PODS - STATE)


class CoreInputs:
    """Implements `HookInputs` in an adapter's memory and in the shared memory."""

    def __init__(self, memory: AdapterMemory, module: CoreModule, handle: Handle, config_place: int) -> None:
        self.handle = handle
        self._memory = memory
        self._engine = module.engine
        # Looked up among all imports, and needed in every call.
        self._uses_time = module.uses("now")
        self._uses_waiting_pods = module.uses("waiting_pods")
        self._uses_requests = module.uses("pod_requests")
        self._uses_records = module.uses_records
        self._synced = {"by_name": module.uses_names, "objects": module.uses_objects, "images": module.uses_images}
        self._cycle = 0
        self._nodes: SharedNodes | None = None
        self._table: NodeTable | None = None
        self._directory = 0
        self._requests: Callable[[], bytes] = bytes
        self._suspended: tuple[SharedNodes | None, Callable[[], bytes]] = (None, bytes)
        self._signed = (0, 0)
        self._fillers: dict[int, Callable[[], bytes]] = {}
        self._blocks: dict[int, tuple[int, int]] = {}
        PLACE.pack_into(memory.view, SLOTS + 8 * CONFIG, config_place)

    # ------------------------------------------------------------------ pod and nodes

    def take_pod(self, pod: AnyPod, nodes: Nodes, table: NodeTable | None, handle: Handle) -> None:
        self.handle = handle
        self._cycle = self._cycle + 1 & 0x7FFFFFFF
        INT32.pack_into(self._memory.view, CYCLE, self._cycle)
        self.set_value(POD, encoded_pod(pod))
        resources = self._engine.resources
        self._offer_requests(lambda: pod_requests(parsed_pod(pod), resources))
        self._nodes = self._engine.shared_nodes(nodes)
        self._table = table if self._uses_records else None
        self.sync()

    def sync(self) -> None:
        if self._table is not None and self._table.is_behind:
            self._table = NodeTable.of(self._table.objects)
        if self._nodes is not None:
            self._nodes.sync(table=self._table, **self._synced)

    def node_name(self, row: int) -> str:
        """The name of a row's node; empty if there is none."""
        return "" if self._nodes is None else self._nodes.name(row)

    def sync_for(self, row: int) -> None:
        """Syncs before a call with that current node; a call without one sees changes of records only."""
        if row >= 0 or self._table is not None:
            self.sync()

    def clear(self) -> None:
        """Removes the pod and all its values."""
        self._table = None
        self._requests = bytes
        self._suspended = (None, bytes)
        for slot in list(self._blocks):
            self._free(slot)
        self._fillers.clear()
        view = self._memory.view
        for start, stop in _SLOTS_OF_A_POD:
            view[start:stop] = _NO_SLOTS[: stop - start]
        view[STATE:NODE_PODS] = _NO_NUMBERS

    def begin_call(self) -> None:
        """Updates the inputs that change from call to call."""
        self._set_directory()
        self.set_time()
        if self._uses_waiting_pods:
            handle = self.handle
            self.set_filler(WAITING_PODS, lambda: pod_list(handle.waiting_pods()))

    def begin_signing(self, pods: Sequence[AnyPod]) -> None:
        """Replaces the pod by many, and hides the nodes: a signature is of the pod alone."""
        memory, heap, resources = self._memory, self._engine.heap, self._engine.resources
        self._suspended = self._nodes, self._requests
        self._nodes = None
        self._offer_requests(lambda: pod_requests(parsed_pod(pods[memory.get("at")]), resources))
        self.begin_call()
        encoded = [encoded_pod(pod) for pod in pods]
        content = b"".join(encoded)
        with heap.lock:
            address = heap.place(content)
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        memory.write_results((address + lengths.cumsum() - lengths | lengths << 32).tobytes())
        memory.bytes_written += len(content)
        self._signed = address, len(content)

    def end_signing(self) -> None:
        """Restores pod and nodes of this cycle."""
        heap = self._engine.heap
        with heap.lock:
            heap.retire(*self._signed)
        self._nodes, requests = self._suspended
        (self._cycle,) = INT32.unpack_from(self._memory.view, CYCLE)
        address, length = self._blocks.get(POD, (0, 0))
        self._set_slot(POD, address | length << 32)
        self._offer_requests(requests)

    def add_resource(self) -> None:
        """Updates records and requests after a resource got a new number."""
        self.sync()
        self._set_directory()
        self._offer_requests(self._requests)

    def place_pods(self, row: int) -> None:
        """Writes the place of a node's pods."""
        PLACE.pack_into(self._memory.view, NODE_PODS, cast("SharedNodes", self._nodes).place_pods(row))

    def _offer_requests(self, requests: Callable[[], bytes]) -> None:
        self._requests = requests
        if self._uses_requests:
            self.set_filler(POD_REQUESTS, requests)

    def _set_directory(self) -> None:
        directory = 0 if self._nodes is None else self._nodes.directory
        if directory != self._directory:
            self._memory.set("directory", directory)
            self._directory = directory

    # ------------------------------------------------------------------ values

    def set_value(self, slot: int, value: bytes | None) -> None:
        self._free(slot)
        if value:
            heap = self._engine.heap
            with heap.lock:
                address = heap.place(value)
            self._blocks[slot] = (address, len(value))
            self._memory.bytes_written += len(value)
            self._set_slot(slot, address | len(value) << 32)
        else:
            self._set_slot(slot, 0)

    def set_filler(self, slot: int, filler: Callable[[], bytes]) -> None:
        self._free(slot)
        self._fillers[slot] = filler
        self._set_slot(slot, UNFILLED)

    def fill(self, slot: int) -> None:
        """Computes the value of a slot."""
        filler = self._fillers[slot]
        self.set_value(slot, filler())
        self._fillers[slot] = filler  # for the next pod to be signed

    def set_scores(self, scores: Scores) -> None:
        memory = self._memory
        memory.make_room(len(scores))
        memory.write_results(scores.astype("<i8", copy=False).tobytes())
        INT32_PAIR.pack_into(memory.view, SCORES, memory.results, 8 * len(scores))
        INT32.pack_into(memory.view, SCORES_SENT, 0)

    def take_scores(self) -> Scores | None:
        memory = self._memory
        address, size = INT32_PAIR.unpack_from(memory.view, SCORES)
        (is_sent,) = INT32.unpack_from(memory.view, SCORES_SENT)
        INT32_PAIR.pack_into(memory.view, SCORES, 0, 0)
        return np.frombuffer(memory.view, "<i8", size // 8, address).astype(np.int64) if is_sent else None

    def set_state(self, number: int) -> None:
        INT32.pack_into(self._memory.view, STATE, number)

    def set_event(self, resource: int, action: int) -> None:
        INT32_PAIR.pack_into(self._memory.view, EVENT, resource, action)

    def set_queued_at(self, seconds: float) -> None:
        INT64.pack_into(self._memory.view, QUEUED_AT, int(seconds * 1e9))

    def set_time(self) -> None:
        """Sets the time, if the guest uses it."""
        if self._uses_time:
            INT64.pack_into(self._memory.view, NOW, int(self.handle.clock.wall() * 1e9))

    def _set_slot(self, slot: int, place: int) -> None:
        PLACE.pack_into(self._memory.view, SLOTS + 8 * slot, place)

    def _free(self, slot: int) -> None:
        self._fillers.pop(slot, None)
        block = self._blocks.pop(slot, None)
        if block is not None:
            heap = self._engine.heap
            with heap.lock:
                heap.retire(*block)

    def __del__(self) -> None:
        for slot in list(getattr(self, "_blocks", ())):
            self._free(slot)
