"""Scenario test runner: the plugin beside the default plugins, in a scheduler on a cluster in memory."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError
from kubewasp.explain.explanation import Explainer
from kubewasp.explain.plugin_logs import PluginLogs, by_pod
from kubewasp.framework.config.default_plugins import DEFAULT_PLUGINS
from kubewasp.framework.config.model import MULTI_POINT, ConfigError, EnabledPlugin, PluginSet
from kubewasp.framework.config.reading import default_config
from kubewasp.k8s.errors import ManifestError
from kubewasp.projects.scenario_expectations import Difference, Outcome, compare, failure_text
from kubewasp.projects.toolchain import TestResult
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation import loading, scenario
from kubewasp.simulation.embedded_cluster import EmbeddedCluster, SimulatedClock
from kubewasp.simulation.error_log import ErrorLog
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.hook_failures import without_prints
from kubewasp.wasm.plugin import WasmPlugin
from kubewasp.wasm.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.projects.scenario_tests import ScenarioTest

_MOST_LOG_LINES = 20


def run(test: ScenarioTest, guest: Path, plugin: str, *, logs: bool = False) -> TestResult:
    """Runs one test; `plugin` is the name of the guest in the profile. `logs` keeps the log of a test that passes."""
    began = time.perf_counter()
    plugin_logs = PluginLogs(is_complete=logs)
    with _logged() as records:
        try:
            failure = _failure(test, guest, plugin, plugin_logs)
        except (ManifestError, KubewaspError) as error:
            failure = str(error)
    log = [*by_pod(plugin_logs.lines(without="" if logs else failure)), *records]
    if failure and log:
        shown = log if logs else log[-_MOST_LOG_LINES:]
        left_out = [f"  … {len(log) - len(shown)} earlier lines; --logs shows them"] if len(shown) < len(log) else []
        failure = "\n".join([failure, "", "log", *left_out, *(f"  {line}" for line in shown)])
        log = []
    return TestResult(test.name, time.perf_counter() - began, failure, log=log if logs else ())


def _failure(test: ScenarioTest, guest: Path, plugin: str, logs: PluginLogs) -> str:
    table = NodeTable()
    explainer, errors = Explainer(table, test.expected), ErrorLog(table)
    try:
        clock = SimulatedClock(test.start_time)
        config = _config(test, guest, plugin)
        repeatable = Repeatable(0, clock)
        setup = set_up(config, added=(plugin,), guest_logs=logs, repeatable=repeatable, check_every=1)
        cluster = EmbeddedCluster(setup, clock=clock, table=table, recorder=explainer, listeners=[explainer, errors])
    except ConfigError as error:
        if test.load_error is None:
            return error.problem
        if test.load_error in error.problem:
            return ""
        return f'expected  load error with "{test.load_error}"\ngot       {error.problem}'
    if test.load_error is not None:
        return f'expected  load error with "{test.load_error}"\ngot       no error'
    outcomes = _outcomes(test, cluster, explainer, errors)
    failures = list(_refutations(cluster))
    first_of: dict[str, str] = {}  # cause of an error -> the pod that has its whole text
    for key, expected in test.expected.items():
        outcome = outcomes.get(key)
        if outcome is None:
            failures.append(f"no pod {key}; pods: {', '.join(outcomes) or 'none'}")
            continue
        differences = compare(expected, outcome, plugin)
        if differences:
            if outcome.is_error:
                first = first_of.setdefault(errors.cause_of(cluster.pods[key], outcome.message), key)
                differences = differences if first == key else _in_short(differences, outcome.message, first)
            failures.append(failure_text(outcome, differences, plugin))
    return "\n\n".join(failures)


def _refutations(cluster: EmbeddedCluster) -> Iterator[str]:
    """Plugins that declare themselves pure, and are not: every pod is a check."""
    for framework in cluster.scheduler.frameworks.values():
        for name, plugin in framework.plugins.items():
            if isinstance(plugin, WasmPlugin) and plugin.guest.purity is not None and plugin.guest.purity.refutation:
                yield f"plugin {name} {plugin.guest.purity.refutation}"


def _in_short(differences: Sequence[Difference], message: str, first: str) -> list[Difference]:
    """The differences with the first line of an error that another pod has in full."""
    short = f"{without_prints(message).partition(chr(10))[0]} (as pod {first})"
    return [replace(item, got=item.got.replace(message, short)) for item in differences]


def _outcomes(
    test: ScenarioTest, cluster: EmbeddedCluster, explainer: Explainer, errors: ErrorLog
) -> dict[str, Outcome]:
    """Results of all pods, by namespace/name."""
    loading.fill(cluster.objects, test.cluster)
    scenario.run(cluster, test.timeline, until=test.until)
    errors.add_gated(cluster.scheduler.queue)
    outcomes = {}
    for key, pod in cluster.pods.items():
        waiting = cluster.scheduler.waiting.get(pod.uid)
        outcomes[key] = Outcome(
            key,
            node=pod.node or (waiting.assumed.node if waiting is not None else ""),
            is_waiting=waiting is not None,
            is_error=not pod.node and key in errors.failed,
            message="" if pod.node else cluster.why_pending(pod),
            explanation=explainer.last.get(key),
            annotations=cluster.objects.manifests[key]["metadata"].get("annotations") or {},
        )
    return outcomes


def _config(test: ScenarioTest, guest: Path, plugin: str) -> SchedulerConfig:
    """The default profile, plus the plugin at all its extension points."""
    config = default_config().with_wasm_plugin(plugin, str(guest))
    (profile,) = config.profiles
    everywhere = profile.plugins[MULTI_POINT]
    weighted = tuple(
        EnabledPlugin(plugin, test.weight) if enabled.name == plugin else enabled for enabled in everywhere.enabled
    )
    plugins = {**profile.plugins, MULTI_POINT: replace(everywhere, enabled=weighted)}
    if test.is_alone:
        others = PluginSet(disabled=tuple(default.name for default in DEFAULT_PLUGINS))
        plugins |= {"preScore": others, "score": others}
    settings = {plugin: replace(profile.wasm[plugin], guest_config=test.config)}
    return replace(config, profiles=(replace(profile, plugins=plugins, wasm=settings),))


class _LogLines(logging.Handler):
    """Handler that collects lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname.lower()} {record.getMessage()}")


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Log lines about guests."""
    logger, handler = logging.getLogger("kubewasp"), _LogLines()
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
