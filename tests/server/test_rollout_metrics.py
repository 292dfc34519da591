"""Metrics of reloads and rollouts."""

from pathlib import Path

from kubewasp.rollout import rollout_events as events
from kubewasp.rollout.rollout_events import RolloutEvent
from kubewasp.scheduler.shadow import Comparison
from kubewasp.server.metrics import Metrics
from kubewasp.server.rollout_metrics import RolloutMetrics, versions
from tests.rollout.bench import Bench
from tests.rollout.policies import wasm


def lines(metrics: Metrics, name: str) -> list[str]:
    content, _ = metrics.exposed()
    return [line for line in content.decode().splitlines() if line.startswith(name)]


def test_reloads_and_rollbacks_are_counted() -> None:
    metrics = Metrics()
    found = RolloutMetrics(metrics)
    found.happened(RolloutEvent(events.RELOADED, "Configuration reloaded"))
    found.happened(RolloutEvent(events.RELOADED, "Plugin replaced", "policy", "sha256:1"))
    found.happened(RolloutEvent(events.RELOAD_FAILED, "no"))
    found.happened(RolloutEvent(events.ROLLED_BACK, "back", "policy", "sha256:1", "canary"))
    found.swapped(0.001)
    assert lines(metrics, "kubewasp_reloads_total") == [
        'kubewasp_reloads_total{result="success"} 1.0',
        'kubewasp_reloads_total{result="failure"} 1.0',
    ]
    assert lines(metrics, "kubewasp_rollbacks_total") == [
        'kubewasp_rollbacks_total{plugin="policy",stage="canary"} 1.0'
    ]
    assert "kubewasp_swap_duration_seconds_count 1.0" in lines(metrics, "kubewasp_swap")


def test_comparisons_are_counted(tmp_path: Path) -> None:
    metrics = Metrics()
    found = RolloutMetrics(metrics)
    bench = Bench(tmp_path, rollout={"shadow": "100%"})
    bench.reload(wasm("v2"))
    trial = bench.running.staged
    assert trial is not None
    found.compared(trial, Comparison("a/b", "n1", "n1", 5, 0, 1.5, seconds=0.1, stable_seconds=0.2))
    found.compared(trial, Comparison("a/c", "n1", "n2", 5, 2))
    found.compared(trial, Comparison("a/d", "n1", error="trap"))
    found.canary_decides(trial)
    assert sorted(lines(metrics, "kubewasp_shadow_pods_total")) == [
        'kubewasp_shadow_pods_total{plugin="policy",result="error"} 1.0',
        'kubewasp_shadow_pods_total{plugin="policy",result="other node"} 1.0',
        'kubewasp_shadow_pods_total{plugin="policy",result="same node"} 1.0',
    ]
    assert 'kubewasp_shadow_verdicts_total{plugin="policy",result="other"} 2.0' in lines(metrics, "kubewasp_shadow")
    assert 'kubewasp_canary_pods_total{plugin="policy"} 1.0' in lines(metrics, "kubewasp_canary")


def test_versions_have_their_digest_and_stage(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    metrics = Metrics()
    RolloutMetrics(metrics).watch(lambda: bench.running)
    bench.reload(wasm("v2"))
    found = {(plugin, stage) for plugin, _, stage in versions(bench.running)}
    assert found == {("policy", "probation"), ("policy", "previous")}
    bench.controller.promote()
    bench.args["rollout"] = {"shadow": "100%"}
    bench.reload(wasm("v3"))
    found = {(plugin, stage) for plugin, _, stage in versions(bench.running)}
    assert found == {("policy", "stable"), ("policy", "shadow")}
    assert len(lines(metrics, "kubewasp_plugin_version_info{")) == 2
