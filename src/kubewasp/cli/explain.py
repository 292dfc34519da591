"""`kubewasp explain`: a decision about a pod in manifests or of a real cluster, or what a scheduler has recorded."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import orjson

from kubewasp.apiserver.client import ApiClient
from kubewasp.apiserver.errors import ApiConfigError, ApiError
from kubewasp.cli import connection, output
from kubewasp.cli.simulate import configured, filled_cluster
from kubewasp.explain.dry_run import InspectionError, as_pending, inspect
from kubewasp.framework.handle import Onlooker
from kubewasp.k8s.errors import ManifestError
from kubewasp.live.snapshot import explain_in, survey
from kubewasp.scheduler import profiles
from kubewasp.scheduler.scheduler import Scheduler
from kubewasp.simulation.embedded_cluster import SimulatedClock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kubewasp.explain.explanation import Explanation
    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.live.snapshot import Survey

_DEFAULT_NAMESPACE: Final = "default"
_TIMEOUT: Final = 30.0
_LONGEST_ANSWER: Final = 64 * 1024 * 1024
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy has another loopback than we


def explain_manifests(
    pod: str,
    namespace: str,
    paths: Sequence[Path],
    *,
    config: Path | None,
    plugins: Sequence[str],
    plugin_configs: Mapping[str, str],
    profile: str = "",
    start_time: float | None = None,
) -> Explanation:
    """One attempt of one pod on a cluster in memory, everything else as it stands there."""
    cluster, _ = filled_cluster(paths, config, plugins, plugin_configs, start_time=start_time)
    key = f"{namespace or _DEFAULT_NAMESPACE}/{pod}"
    if key not in cluster.pods:
        raise ManifestError("", f"there is no pod {key} in {', '.join(str(path) for path in paths)}")
    manifest = cluster.manifests[key]
    pending, notes = as_pending(manifest, profile, cluster.scheduler.frameworks)
    if pending != manifest:
        cluster.delete("Pod", *key.split("/"))
        cluster.apply(pending)
    return inspect(cluster.scheduler, cluster.pods[key], notes)


def explain_live(
    pod: str,
    namespace: str,
    *,
    kubeconfig: str,
    config: Path | None,
    plugins: Sequence[str],
    plugin_configs: Mapping[str, str],
    profile: str = "",
    start_time: float | None = None,
) -> Explanation:
    """What would become of a pod of a real cluster now. Guests are loaded first: what is wrong there is told soon."""
    settings, named = configured(config, plugins, plugin_configs)
    for warning in settings.warnings:
        output.warn(warning)
    if settings.extenders:
        output.warn("extenders are configured, but not called")
    scheduler = Scheduler(SimulatedClock(time.time() if start_time is None else start_time), Onlooker())
    profiles.start(scheduler, settings, added=named)
    files = kubeconfig or settings.client_connection.kubeconfig
    try:
        found = asyncio.run(_read(settings, files, pod, namespace or connection.namespace(files)))
    except (ApiConfigError, ApiError) as error:
        raise InspectionError(str(error)) from None
    return explain_in(scheduler, found, profile)


async def _read(settings: SchedulerConfig, kubeconfig: str, pod: str, namespace: str) -> Survey:
    limits = settings.client_connection
    credentials = await connection.credentials(kubeconfig)
    async with ApiClient(credentials, qps=limits.qps, burst=limits.burst) as client:
        return await survey(client, namespace, pod)


def recorded(url: str, pod: str, namespace: str) -> dict[str, Any]:
    """What a running kubewasp has kept of its decisions about a pod."""
    key = f"{namespace or _DEFAULT_NAMESPACE}/{pod}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise InspectionError(f"{url}: expected the address of a running kubewasp, such as http://127.0.0.1:10259")
    asked = f"{url.rstrip('/')}/debug/decisions?{urlencode({'pod': key})}"
    try:
        with _DIRECT.open(asked, timeout=_TIMEOUT) as answer:
            found = orjson.loads(answer.read(_LONGEST_ANSWER))
        decisions, failed, share = found["decisions"], found["failed"], found["sampled"]
    except urllib.error.HTTPError as error:
        text = error.read(_LONGEST_ANSWER).decode(errors="replace").strip()
        raise InspectionError(f"{url}: no decisions are shown there: {text}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InspectionError(f"{url}: not the answer of a running kubewasp: {error}") from None
    if not decisions and not failed:
        raise InspectionError(f"{url}: nothing was recorded of pod {key}; {share:.0%} of all decisions are")
    return {"pod": key, "decisions": decisions, "failed": failed}
