"""Queueing hints: event registrations of the plugins, and the decision whether an event may help a pod."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.plugin import Registration
from kubewasp.framework.unexpected import UnexpectedErrors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.scheduler.queued_pod import ClusterChange, QueuedPod

    _ByPlugin = dict[str, list[Registration]]
    # Answers about one event, by the plugins that rejected a pod and its spec.
    KnownHints = dict[tuple[frozenset[str], PodSpec], bool]


class QueueingHints:
    """Registrations of the plugins of all profiles, read once: at `load`, when the frameworks are complete."""

    def __init__(self, frameworks: Mapping[str, Framework], observer: SchedulerObserver) -> None:
        self._frameworks = frameworks
        self._unexpected = UnexpectedErrors(observer)
        self._observer = observer
        self._by_event: dict[tuple[str, int], dict[str, _ByPlugin]] = {}

    @cached_property
    def _by_profile(self) -> dict[str, _ByPlugin]:
        return {name: _registrations(framework) for name, framework in self._frameworks.items()}

    @cached_property
    def _resources(self) -> set[str]:
        found = (registrations for by_plugin in self._by_profile.values() for registrations in by_plugin.values())
        return {resource for registrations in found for resource in _resources(registrations)}

    def load(self) -> None:
        """Reads the registrations."""
        _ = self._resources

    def concern(self, change: ClusterChange) -> bool:
        """Whether any plugin registered for the kind of object."""
        return change.is_wildcard or not self._resources.isdisjoint((change.resource, "*"))

    def plugins(self, change: ClusterChange) -> Iterator[str]:
        """The plugins of all profiles that registered for the event, in order."""
        for by_plugin in self._matching(change).values():
            yield from by_plugin

    def wake(self, queued: QueuedPod, change: ClusterChange, known: KnownHints | None = None) -> bool:
        """Whether the event may help the pod: one hint of one of the plugins that rejected it is enough.

        `known` has answers about the same event, for pods of the same spec.
        """
        if known is None or queued.gated_by or change.is_wildcard:
            return self._wake(queued, change)
        found = known.get((queued.rejected_by, queued.pod.spec))
        if found is None:
            found = self._wake(queued, change)
            by_plugin = self._matching(change)[queued.pod.spec.scheduler_name]
            if all(registration.by_spec for plugin in queued.rejected_by for registration in by_plugin.get(plugin, ())):
                known[queued.rejected_by, queued.pod.spec] = found
        return found

    def _wake(self, queued: QueuedPod, change: ClusterChange) -> bool:
        if change.is_wildcard:
            return True
        profile = queued.pod.spec.scheduler_name
        by_plugin = self._matching(change)[profile]
        plugins = queued.rejected_by
        if queued.gated_by:
            if queued.gated_by not in by_plugin:
                return False
            if self._is_shut(profile, queued):
                return False
            plugins |= {queued.gated_by}
        if not plugins:
            return True
        return any(
            self._helps(plugin, registration, change, queued.pod)
            for plugin in plugins
            for registration in by_plugin.get(plugin, ())
        )

    def _matching(self, change: ClusterChange) -> dict[str, _ByPlugin]:
        key = (change.resource, int(change.action))
        if key not in self._by_event:
            self._by_event[key] = {name: _matching(found, change) for name, found in self._by_profile.items()}
        return self._by_event[key]

    def _is_shut(self, profile: str, queued: QueuedPod) -> bool:
        try:
            return self._frameworks[profile].gates[queued.gated_by].is_shut(queued.pod)
        except Exception as error:  # noqa: BLE001 - PreEnqueue decides
            self._unexpected.report("gate", error, plugin=queued.gated_by, pod=queued.pod.key)
            return False

    def _helps(self, plugin: str, registration: Registration, change: ClusterChange, pod: Pod) -> bool:
        if not self._observer.samples():
            return self._may_help(plugin, registration, change, pod)
        began = time.perf_counter()
        helps = self._may_help(plugin, registration, change, pod)
        self._observer.hint(plugin, change.label, "Queue" if helps else "QueueSkip", time.perf_counter() - began)
        return helps

    def _may_help(self, plugin: str, registration: Registration, change: ClusterChange, pod: Pod) -> bool:
        try:
            return _helps(registration, change, pod)
        except Exception as error:  # noqa: BLE001 - as in kube-scheduler, a hint that fails wakes the pod
            self._unexpected.report("hint", error, plugin=plugin, pod=pod.key)
            return True


def _registrations(framework: Framework) -> _ByPlugin:
    found: _ByPlugin = {}
    for name, registration in framework.registrations():
        found.setdefault(name, []).append(registration)
    for registrations in found.values():
        actions = Action.NONE
        for registration in registrations:
            if registration.resource == "Node":
                actions |= registration.actions
        # As in kube-scheduler: a new node may become usable only when its taints are gone.
        if actions & Action.ADD and not actions & Action.UPDATE_NODE_TAINT:
            registrations.append(Registration("Node", Action.UPDATE_NODE_TAINT))
    return found


def _resources(registrations: list[Registration]) -> Iterator[str]:
    for registration in registrations:
        if registration.resource == "Pod":
            yield from ("AssignedPod", "UnschedulablePod")
        yield registration.resource


def _matching(by_plugin: _ByPlugin, change: ClusterChange) -> _ByPlugin:
    found = {plugin: [item for item in listed if _matches(item, change)] for plugin, listed in by_plugin.items()}
    return {plugin: listed for plugin, listed in found.items() if listed}


def _matches(registration: Registration, change: ClusterChange) -> bool:
    if registration.resource == "Pod":
        if change.resource not in ("Pod", "AssignedPod", "UnschedulablePod"):
            return False
    elif registration.resource not in ("*", change.resource):
        return False
    return bool(registration.actions & change.action) and change.action <= registration.actions


def _helps(registration: Registration, change: ClusterChange, pod: Pod) -> bool:
    if registration.event_hint is not None:
        return registration.event_hint(pod, change.resource, change.action, change.old, change.new)
    return registration.hint is None or registration.hint(pod, change.old, change.new)
