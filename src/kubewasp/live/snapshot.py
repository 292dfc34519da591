"""Read-only snapshot of a real cluster for `explain`."""

from __future__ import annotations

import asyncio
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.api_resources import PODS, RESOURCES, request_info
from kubewasp.apiserver.errors import ApiError, invalid_answer
from kubewasp.apiserver.reflector import list_all
from kubewasp.explain.dry_run import ExplainError, as_pending, dry_run
from kubewasp.k8s.codec import decode, encode, unwrap_unknown
from kubewasp.k8s.errors import WireError
from kubewasp.live.cluster_watch import NOT_FINISHED, WATCHED
from kubewasp.live.mirror import Mirror

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.apiserver.raw_object import RawObject
    from kubewasp.explain.explanation import Explanation
    from kubewasp.explain.plugin_logs import PluginLogs
    from kubewasp.scheduler.scheduler import Scheduler

_MAX_SUGGESTIONS: Final = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pod, encoded, and all other objects by resource."""

    pod: bytes
    objects: Mapping[str, Sequence[RawObject]]


async def take_snapshot(client: ApiClient, namespace: str, name: str) -> Snapshot:
    """Reads the pod first: a missing pod is an error at once, however large the cluster."""
    reading, path = client.guarded(lambda: False), PODS.path_of(namespace, name)
    try:
        _, _, pod = unwrap_unknown(await reading.request("GET", path))
    except WireError as error:
        raise invalid_answer(request_info("GET", path), error) from None
    except ApiError as error:
        if error.status != 404:
            raise
        raise await _missing(reading, namespace, name) from None
    return Snapshot(pod, await _all_objects(reading))


def explain_snapshot(
    scheduler: Scheduler, found: Snapshot, profile: str = "", logs: PluginLogs | None = None
) -> Explanation:
    """The decision on the snapshot's pod, by a read-only scheduler with an empty state."""
    manifest = decode("Pod", found.pod)
    pending, notes = as_pending(manifest, profile, scheduler.frameworks)
    metadata = pending["metadata"]
    key = metadata["namespace"], metadata["name"]
    mirror = Mirror(scheduler.events, scheduler.store)
    for resource in WATCHED:
        objects = [item.data for item in found.objects[resource] if resource != PODS.name or item.key != key]
        mirror.replaced(RESOURCES[resource].kind, objects)
    mirror.changed("Pod", "ADDED", found.pod if pending == manifest else encode("Pod", pending))
    pod = mirror.pods.get("/".join(key))
    if pod is None:
        raise ExplainError(f"pod {'/'.join(key)} cannot be read")
    return dry_run(scheduler, pod, notes, logs)


async def _all_objects(client: ApiClient) -> dict[str, Sequence[RawObject]]:
    lists = await asyncio.gather(*(_listed(client, name) for name in WATCHED), return_exceptions=True)
    problems = [found for found in lists if isinstance(found, BaseException)]
    others = [problem for problem in problems if not isinstance(problem, ApiError)]
    if others:
        raise others[0]
    if problems:  # all together: a missing permission is seldom the only one
        raise ExplainError("\n".join(dict.fromkeys(map(str, problems))))
    return {name: found for name, found in zip(WATCHED, lists, strict=True) if not isinstance(found, BaseException)}


async def _listed(client: ApiClient, name: str) -> list[RawObject]:
    selector = NOT_FINISHED if name == PODS.name else ""
    items, _ = await list_all(client, RESOURCES[name].path, field_selector=selector)
    return items


async def _missing(client: ApiClient, namespace: str, name: str) -> ExplainError:
    """Error for a missing pod, with similar names."""
    namespaces, _ = await list_all(client, RESOURCES["namespaces"].path)
    if namespace not in {item.name for item in namespaces}:
        return ExplainError(f"there is no namespace {namespace}{_meant(namespace, namespaces)}")
    elsewhere, _ = await list_all(client, PODS.path, field_selector=f"metadata.name={name}")
    if elsewhere:
        places = ", ".join(sorted(item.namespace for item in elsewhere)[:_MAX_SUGGESTIONS])
        return ExplainError(f"there is no pod {name} in namespace {namespace}, but there is one in {places}")
    pods, _ = await list_all(client, PODS.path_in(namespace))
    return ExplainError(f"there is no pod {name} in namespace {namespace}{_meant(name, pods)}")


def _meant(name: str, there: Iterable[RawObject]) -> str:
    names = sorted(item.name for item in there)
    near = [found for found in names if name in found] or difflib.get_close_matches(name, names, _MAX_SUGGESTIONS)
    return f"; did you mean {', '.join(near[:_MAX_SUGGESTIONS])}?" if near else ""
