"""Guest cycles of a plugin's pods, kept in the framework's cycle state.  HOT PATH (guard: make counts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.framework.cycle_state import StateKey

if TYPE_CHECKING:
    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.k8s.pods import Pod
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.guest_cycle import CycleStates, GuestCycle

_BINDING_HOOKS = ("reserve", "unreserve", "permit", "prebind", "bind", "postbind")


class PodCycles:
    """The guest cycle of each pod in progress, for one plugin of one profile."""

    def __init__(self, plugin: str, guest: Guest, handle: SchedulerHandle) -> None:
        self.signature_key = StateKey[int](f"{plugin}: signature")
        self._cycle_key: StateKey[GuestCycle] = StateKey(plugin)
        self._state_key: StateKey[GuestState] = StateKey(plugin)
        # Whether the guest has hooks after a node was chosen; if not, its instance is free from then on.
        self.is_bound = any(hook in guest.hooks for hook in _BINDING_HOOKS)
        self._guest = guest
        self._handle = handle
        self._has_prefilter = "prefilter" in guest.hooks
        self._has_states = "clonestate" in guest.hooks

    def new(self, pod: Pod) -> GuestCycle:
        """A cycle outside of the scheduling cycle; the caller closes it."""
        return self._guest.cycle(pod, self._handle.table, handle=self._handle)

    def begin(self, state: CycleState, pod: Pod) -> GuestCycle:
        """A new cycle for a pod, kept in its state."""
        cycle = self._guest.cycle(pod, self._handle.table, handle=self._handle)
        cycle.signature = state.get(self.signature_key) or cycle.signature
        state.share(self._cycle_key, cycle, until_chosen=not self.is_bound)
        if self._has_states:
            state[self._state_key] = GuestState(cycle.states)
        return cycle

    def cycle(self, state: CycleState, pod: Pod) -> GuestCycle:
        """The pod's cycle; a new one begins with `prefilter` before any other hook."""
        cycle = state.shared(self._cycle_key)
        if cycle is None:
            cycle = self.begin(state, pod)
            if self._has_prefilter:
                cycle.prefilter()
        if self._has_states:
            if self._state_key not in state:  # the cycle began in a trial
                state[self._state_key] = GuestState(cycle.states)
            state[self._state_key].select()
        return cycle

    def changing(self, state: CycleState, pod: Pod) -> GuestCycle:
        """The pod's cycle for a hook that changes the guest's state: this one only, and none of its clones."""
        cycle = self.cycle(state, pod)
        if self._has_states:
            state[self._state_key].own()
        return cycle

    def begun(self, state: CycleState) -> GuestCycle | None:
        """The pod's cycle, if there is one."""
        return state.shared(self._cycle_key)

    def signature(self, state: CycleState) -> int:
        """The pod's signature, if it has one; otherwise that of all pods."""
        cycle = state.shared(self._cycle_key)
        if cycle is not None:
            return cycle.signature
        return state.get(self.signature_key) or self._guest.signature


class GuestState:
    """A cycle state inside a guest, as an entry of a `CycleState`. Clones share it until one of them changes it."""

    def __init__(self, states: CycleStates, version: _Version | None = None) -> None:
        self._states = states
        # The first version is never changed: the next trial begins with it.
        self._version = version or _Version(0, users=1)
        self._version.users += 1

    def clone(self) -> GuestState:
        return GuestState(self._states, self._version)

    def select(self) -> None:
        self._states.select(self._version.number)

    def own(self) -> None:
        """Selects the state, or a copy of it if it has other users."""
        if self._version.users > 1:
            self._version.users -= 1
            self._version = _Version(self._states.clone(self._version.number), users=1)
        self.select()

    def __del__(self) -> None:
        self._version.users -= 1
        if not self._version.users and self._version.number:
            self._states.forget(self._version.number)


@dataclass(slots=True)
class _Version:
    """A numbered state of the guest, and the number of its users."""

    number: int
    users: int = 0
