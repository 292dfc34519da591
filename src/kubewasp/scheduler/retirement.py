"""Plugins out of use: closed when the last pod that began with them is bound or back in the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.framework.unexpected import UnexpectedErrors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.framework.observer import SchedulerObserver
    from kubewasp.framework.plugin import Plugin
    from kubewasp.framework.runtime import Framework
    from kubewasp.scheduler.binding import BindingCycle
    from kubewasp.scheduler.waiting import WaitingPods


@dataclass(frozen=True, slots=True)
class _Retired:
    """Plugins, and the frameworks whose pods may still call them."""

    frameworks: frozenset[int]
    plugins: Sequence[Plugin]
    kept: Sequence[Framework]  # an id is a framework's only while the framework exists


class Retirement:
    """Plugins between their last swap and their last pod. For the scheduler's thread."""

    def __init__(self, observer: SchedulerObserver) -> None:
        self._retired: list[_Retired] = []
        self._unexpected = UnexpectedErrors(observer)
        self._listeners: list[Callable[[Sequence[Plugin]], None]] = []

    def __bool__(self) -> bool:
        return bool(self._retired)

    def __len__(self) -> int:
        """Number of swaps with plugins in use."""
        return len(self._retired)

    def subscribe(self, listener: Callable[[Sequence[Plugin]], None]) -> None:
        """Calls the listener with plugins that no pod uses any more, after they were closed."""
        self._listeners.append(listener)

    def add(self, frameworks: Sequence[Framework], plugins: Sequence[Plugin]) -> None:
        if plugins:
            self._retired.append(_Retired(frozenset(map(id, frameworks)), plugins, frameworks))

    def in_use(self) -> list[Plugin]:
        """The plugins that pods may still call."""
        return [plugin for retired in self._retired for plugin in retired.plugins]

    def end(self, waiting: WaitingPods, binding: BindingCycle) -> None:
        """Closes the plugins whose last pod is through."""
        used = {id(item.framework) for item in waiting.all()} | {id(item) for item in binding.frameworks()}
        through = [retired for retired in self._retired if used.isdisjoint(retired.frameworks)]
        if not through:
            return
        self._retired = [retired for retired in self._retired if not used.isdisjoint(retired.frameworks)]
        plugins = [plugin for retired in through for plugin in retired.plugins]
        for plugin in plugins:
            try:
                plugin.close()
            except Exception as error:  # noqa: BLE001 - it is out of use
                self._unexpected.report("close", error, plugin=plugin.name)
        for listener in self._listeners:
            listener(plugins)
