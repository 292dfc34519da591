"""Plugins from `pluginConfig` entries with a `guestURL`."""

from typing import Any

import pytest

from kubewasp.clock import SystemClock
from kubewasp.framework.config.model import ConfigError, WasmPluginSettings
from kubewasp.framework.handle import ReadOnlyClient, SchedulerHandle
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.wasm.guest_loader import GuestLoader
from tests import samples
from tests.guests.build import wat


class Observer:
    """Records all calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self.failures: list[tuple[str, str, str]] = []

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        assert seconds > 0
        self.calls.append((plugin, hook, failure))

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        self.failures.append((plugin, hook, kind))


def settings(guest: str, **values: Any) -> WasmPluginSettings:
    return WasmPluginSettings(str(wat(guest)), **values)


def handle() -> SchedulerHandle:
    return compose(Environment(clock=SystemClock(), client=ReadOnlyClient())).handle


def test_the_extension_points_are_those_of_the_hooks() -> None:
    assert set(GuestLoader().points("policy", settings("filter"))) == {"filter"}


def test_a_guest_is_loaded_once_for_its_points_and_all_profiles() -> None:
    loader, one = GuestLoader(), settings("filter")
    loader.points("policy", one)
    first, second = (loader.create("policy", one, handle()) for _ in range(2))
    assert first.guest is second.guest
    assert first.guest.stats.created == 1
    assert loader.create("policy", settings("filter"), handle()).guest is not first.guest


def test_every_guest_reports_to_the_observer() -> None:
    observer = Observer()
    loader = GuestLoader(observer)
    for name in ("one", "two"):
        guest = loader.create(name, settings("filter"), handle()).guest
        guest.evaluate(samples.pod(), samples.nodes(2))
    assert observer.calls == [("one", "filter", ""), ("two", "filter", "")]
    assert observer.failures == []


def test_a_guest_that_cannot_be_loaded_is_a_problem_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match=r'plugin "policy": wasm: cannot load /nowhere\.wasm: '):
        GuestLoader().points("policy", WasmPluginSettings("/nowhere.wasm"))
