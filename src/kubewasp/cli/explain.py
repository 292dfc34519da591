"""`kubewasp explain`: the decision on a pod of manifests or of a real cluster, or recorded decisions of a scheduler."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import orjson

from kubewasp.apiserver.client import ApiClient
from kubewasp.cli import connection, output
from kubewasp.explain.dry_run import ExplainError, as_pending, dry_run
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.k8s.errors import ManifestError
from kubewasp.live.snapshot import explain_snapshot, take_snapshot
from kubewasp.scheduler.composition import Environment, set_up
from kubewasp.scheduler.configuration import configure
from kubewasp.simulation.embedded_cluster import SimulatedClock
from kubewasp.simulation.simulator import embedded_cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.explain.explanation import Explanation
    from kubewasp.explain.plugin_logs import PluginLogs
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile
    from kubewasp.live.snapshot import Snapshot
    from kubewasp.scheduler.configuration import AddedPlugin
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

_DEFAULT_NAMESPACE: Final = "default"
_TIMEOUT: Final = 30.0
_LONGEST_ANSWER: Final = 64 * 1024 * 1024
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the loopback of a proxy is another one


def explain_manifests(
    pod: str,
    namespace: str,
    paths: Sequence[InputFile],
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    logs: PluginLogs,
    profile: str = "",
    start_time: float | None = None,
    seed: int = 0,
    real_entropy: bool = False,
    strict: bool = False,
) -> Explanation:
    """Dry run of one pod on a cluster from manifests."""
    cluster, warnings = embedded_cluster(
        paths,
        config,
        plugins,
        plugin_configs,
        seed=seed,
        real_entropy=real_entropy,
        start_time=start_time,
        strict=strict,
        client=ReadOnlyClient(),
        guest_logs=logs,
    )
    _warn(warnings)
    key = f"{namespace or _DEFAULT_NAMESPACE}/{pod}"
    if key not in cluster.pods:
        raise ManifestError("", f"there is no pod {key} in {', '.join(str(path) for path in paths)}")
    manifest = cluster.objects.manifests[key]
    pending, notes = as_pending(manifest, profile, cluster.scheduler.frameworks)
    if pending != manifest:
        cluster.delete("Pod", *key.split("/"))
        cluster.apply(pending)
    notes += _alone(key, cluster)
    found = dry_run(cluster.scheduler, cluster.pods[key], notes, logs)
    found.warnings = warnings
    return found


def _alone(key: str, cluster: EmbeddedCluster) -> list[str]:
    """A note on other pending pods: a simulation schedules them too, and may come to another result."""
    others = sum(
        not pod.node and pod.key != key and pod.spec.scheduler_name in cluster.scheduler.frameworks
        for pod in cluster.pods.values()
    )
    if not others:
        return []
    which = f"{others:,} other pending pods are" if others > 1 else "1 other pending pod is"
    return [f"{which} not scheduled here, but with `kubewasp simulate --explain {key}`"]


def explain_live(
    pod: str,
    namespace: str,
    *,
    kubeconfig: str,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    logs: PluginLogs,
    profile: str = "",
    start_time: float | None = None,
) -> Explanation:
    """Dry run of one pod on a snapshot of a real cluster. Guests are loaded first: their errors come early."""
    settings, added = configure(config, plugins, plugin_configs)
    unused = ["extenders are configured, but not called"] if settings.extenders else []
    warnings = [*settings.warnings, *unused]
    _warn(warnings)
    clock = SimulatedClock(time.time() if start_time is None else start_time)
    setup = set_up(settings, added=added, guest_logs=logs)
    scheduler = setup.scheduler(Environment(clock=clock, client=ReadOnlyClient()))
    files = kubeconfig or settings.client_connection.kubeconfig
    snapshot = asyncio.run(_read(settings, files, pod, namespace or connection.namespace(files)))
    found = explain_snapshot(scheduler, snapshot, profile, logs)
    found.warnings = warnings
    return found


def _warn(warnings: Sequence[str]) -> None:
    """Printed at once: a later error may be caused by them."""
    for warning in warnings:
        output.warn(warning)


async def _read(settings: SchedulerConfig, kubeconfig: str, pod: str, namespace: str) -> Snapshot:
    limits = settings.client_connection
    credentials = await connection.credentials(kubeconfig)
    async with ApiClient(credentials, qps=limits.qps, burst=limits.burst) as client:
        return await take_snapshot(client, namespace, pod)


def recorded(url: str, pod: str, namespace: str) -> dict[str, Any]:
    """Decisions on a pod that a running scheduler has recorded."""
    key = f"{namespace or _DEFAULT_NAMESPACE}/{pod}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ExplainError(f"{url}: expected the address of a running kubewasp, such as http://127.0.0.1:10259")
    asked = f"{url.rstrip('/')}/debug/decisions?{urlencode({'pod': key})}"
    try:
        with _DIRECT.open(asked, timeout=_TIMEOUT) as answer:
            found = orjson.loads(answer.read(_LONGEST_ANSWER))
        decisions, failed, share = found["decisions"], found["failed"], found["sampled"]
    except urllib.error.HTTPError as error:
        text = error.read(_LONGEST_ANSWER).decode(errors="replace").strip()
        raise ExplainError(f"{url}: no decisions are shown there: {text}") from None
    except urllib.error.URLError as error:
        cause = getattr(error.reason, "strerror", None) or error.reason
        raise ExplainError(f"{url}: no running kubewasp can be reached there: {cause}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExplainError(f"{url}: not the answer of a running kubewasp: {error}") from None
    if not decisions and not failed:
        raise ExplainError(f"{url}: nothing was recorded of pod {key}; {share:.0%} of all decisions are")
    return {"pod": key, "decisions": decisions, "failed": failed}
