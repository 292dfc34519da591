"""Versions of an extender's plugins: swapped between two requests, failures change nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender.plugin_versions import ExtenderReload, PluginVersions
from kubewasp.extender.service import ExtenderService
from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.rollout.process_version import resolved
from kubewasp.rollout.reload_source import ReloadSource
from kubewasp.rollout.reload_thread import ReloadRequests
from kubewasp.rollout.rollout_status import RolloutHistory
from kubewasp.rollout.staging import Stager
from kubewasp.scheduler.composition import Environment, compose
from kubewasp.wasm.guest_log import LOGGER_SINK
from tests.plugins.building import make_node
from tests.rollout.policies import wasm, write
from tests.scheduler.building import HEAD


class Bench:
    """An extender's service and versions, without threads."""

    def __init__(self, folder: Path, content: bytes) -> None:
        self.guest = folder / "policy.wasm"
        write(self.guest, content)
        self.plugins: dict[str, Any] = {"multiPoint": {"enabled": [{"name": "policy"}]}}
        self.source = ReloadSource(self.read)
        self.requests = ReloadRequests()
        self.history = RolloutHistory(lambda: 0.0)
        stager = Stager(self.source.ledger, NO_OBSERVER, LOGGER_SINK)
        config = self.read()
        scheduler = compose(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient()))
        self.versions = PluginVersions(
            resolved(config, stager.stage(config, ()), NO_OBSERVER),
            scheduler.handle,
            observer=NO_OBSERVER,
            added=(),
            all_plugins=False,
            background=self.requests.do,
            listeners=[self.history],
        )
        self.service = ExtenderService(scheduler.table, self.versions.frameworks)
        self.versions.subscribe(self.service.replace)
        for name in ("node-a", "node-b"):
            scheduler.events.put_node(make_node(name))
        self.reload = ExtenderReload(
            self.versions,
            self.requests,
            source=self.source,
            stager=stager,
            history=self.history,
            post=lambda action: action(),
            listeners=[self.history],
        )

    def read(self) -> SchedulerConfig:
        entry = {"name": "policy", "args": {"guestURL": str(self.guest)}}
        return read_config({**HEAD, "profiles": [{"plugins": self.plugins, "pluginConfig": [entry]}]})

    def rejected(self) -> list[str]:
        body = {"Pod": {"metadata": {"name": "pod"}}, "NodeNames": ["node-a", "node-b"]}
        answer = json.loads(self.service.filter(json.dumps(body).encode()))
        return sorted(answer.get("FailedNodes") or answer.get("failedNodes") or {})

    def step(self, cause: str = "test") -> None:
        self.reload.reload(cause)
        self.reload._thread.step()
        self.reload._thread.step()


def test_requests_after_a_reload_are_answered_by_the_new_version(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", rejects="a"))
    assert bench.rejected() == ["node-a"]
    write(bench.guest, wasm("v2", rejects="b"))
    ended: list[Any] = []
    bench.versions.on_ended(ended.extend)
    old = bench.versions.plugins()
    bench.step()
    assert bench.rejected() == ["node-b"]
    assert [plugin.name for plugin in ended] == ["policy"]
    assert old[0].guest.pool._is_closed if old[0].name == "policy" else True  # type: ignore[attr-defined]
    assert bench.reload.status()["reloads"]["succeeded"] == 1


def test_a_guest_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", rejects="a"))
    frameworks = bench.versions.frameworks
    write(bench.guest, b"broken")
    bench.step()
    assert bench.versions.frameworks is frameworks
    assert bench.rejected() == ["node-a"]
    assert 'plugin "policy"' in bench.reload.status()["reloads"]["lastFailure"]


def test_unchanged_plugins_go_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", rejects="a"))
    [before] = [plugin for plugin in bench.versions.plugins() if plugin.name == "policy"]
    bench.step()
    [after] = [plugin for plugin in bench.versions.plugins() if plugin.name == "policy"]
    assert after is before


def test_a_configuration_without_plugins_for_an_extender_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, wasm("v1", rejects="a"))
    bench.plugins = {}
    bench.step()
    assert "no profile has a plugin for an extender" in bench.history.last_failure
    assert bench.rejected() == ["node-a"]


def test_versions_judged_bad_are_forgiven_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, wasm("v1"))
    forgiven: list[bool] = []
    monkeypatch.setattr(bench.source.ledger, "forgive", lambda: forgiven.append(True))
    bench.reload.reload("test", forgive=True)
    bench.reload._thread.step()
    assert forgiven == [True]
