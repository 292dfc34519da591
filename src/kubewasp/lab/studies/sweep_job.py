"""Manifests that run a sweep as an indexed Job of Kubernetes: each pod does a shard.

Without a claim, the files of the sweep are in a ConfigMap, and the pods print their results. With one, both are on it:
the files in the folder `inputs`, the results in `results`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from kubewasp import __version__
from kubewasp.errors import KubewaspError
from kubewasp.framework.config.guest_urls import local_path
from kubewasp.input_file import HeldFile
from kubewasp.k8s.quantity import format_size
from kubewasp.simulation import loading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.lab.studies.sweep_file import Sweep

_MAX_CONFIG_MAP: Final = 1_000_000  # Kubernetes allows 1 MiB, before base64
_INPUTS: Final = "/inputs"
_CLAIM: Final = "/sweep"
_USER: Final = 65532
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_PLAIN: Final = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


class JobError(KubewaspError):
    """A sweep that cannot be made a Job."""


def manifests(sweep: Sweep, path: Path, *, pods: int, image: str, claim: str = "") -> list[dict[str, Any]]:
    """The manifests, in the order in which they are applied."""
    files = sorted({file.resolve() for file in _files(sweep, path)})
    root = Path(os.path.commonpath([file.parent for file in files]))
    name = _name(path)
    where = PurePosixPath(path.resolve().relative_to(root).as_posix())
    if claim:
        volume = {"name": "sweep", "persistentVolumeClaim": {"claimName": claim}}
        arguments = [f"{_CLAIM}{_INPUTS}/{where}", "--out", f"{_CLAIM}/results"]
        container = _container(image, pods, arguments, [{"name": "sweep", "mountPath": _CLAIM}])
        return [_job(name, pods, container, [volume])]
    content = {file.relative_to(root).as_posix(): HeldFile.of(file).content for file in files}
    config_map = _config_map(name, content)
    items = [{"key": f"file-{number}", "path": item} for number, item in enumerate(content)]
    volume = {"name": "inputs", "configMap": {"name": config_map["metadata"]["name"], "items": items}}
    results: dict[str, Any] = {"name": "results", "emptyDir": {}}
    mounts: list[dict[str, Any]] = [
        {"name": "inputs", "mountPath": _INPUTS, "readOnly": True},
        {"name": "results", "mountPath": "/results"},
    ]
    arguments = [f"{_INPUTS}/{where}", "--out", "/results", "--records"]
    return [config_map, _job(name, pods, _container(image, pods, arguments, mounts), [volume, results])]


def default_image() -> str:
    return f"kubewasp:{__version__}"


def job_name(documents: Sequence[dict[str, Any]]) -> str:
    return str(documents[-1]["metadata"]["name"])


def _config_map(name: str, content: dict[str, bytes]) -> dict[str, Any]:
    data = {f"file-{number}": base64.b64encode(held).decode() for number, held in enumerate(content.values())}
    size = sum(map(len, content.values()))
    if size > _MAX_CONFIG_MAP:
        raise JobError(
            f"the files of the sweep are {format_size(size)}, too much for a ConfigMap; "
            "put them on a volume and name its claim: --job-claim"
        )
    digest = hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()[:10]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-{digest}", "labels": _labels(name)},
        "immutable": True,
        "binaryData": data,
    }


def _container(image: str, pods: int, arguments: Sequence[str], mounts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "sweep",
        "image": image,
        "args": ["sweep", *arguments, "--shard", f"$(JOB_COMPLETION_INDEX)/{pods}", "--processes", "1"],
        "resources": {"requests": {"cpu": "1", "memory": "512Mi"}},
        "securityContext": _PLAIN,
        "volumeMounts": [*mounts, {"name": "cache", "mountPath": "/var/cache/kubewasp"}],
    }


def _job(name: str, pods: int, container: dict[str, Any], volumes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    cache: dict[str, Any] = {"name": "cache", "emptyDir": {}}
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [*volumes, cache],
    }
    # A run that fails does so again: exit code 1 is final. A pod that is killed or evicted is not.
    rules = [
        {"action": "FailIndex", "onExitCodes": {"containerName": "sweep", "operator": "In", "values": [1, 2]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
    ]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": _labels(name)},
        "spec": {
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "backoffLimitPerIndex": 3,
            "podFailurePolicy": {"rules": rules},
            "template": {"metadata": {"labels": _labels(name)}, "spec": pod},
        },
    }


def _labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "kubewasp-sweep", "app.kubernetes.io/instance": name}


def _name(path: Path) -> str:
    stem = _NOT_IN_NAMES.sub("-", path.stem.lower()).strip("-")[:40].strip("-")
    return f"sweep-{stem}" if stem else "sweep"


def _files(sweep: Sweep, path: Path) -> Iterator[Path]:
    """All files that the sweep reads."""
    yield path
    for source in sweep.inputs:
        for manifest in source.manifests:
            yield from (Path(str(file)) for file in loading.files(manifest))
        trace = source.trace
        places = [source.scenario]
        if trace is not None:
            places += [trace.pods, trace.nodes, trace.mapping if isinstance(trace.mapping, Path) else None]
        yield from (place for place in places if place is not None)
    for configuration in sweep.configurations:
        if configuration.config is not None:
            yield Path(str(configuration.config))
        for profile in configuration.candidate().settings.profiles:
            for name, wasm in profile.wasm.items():
                guest = local_path(str(wasm.guest_url))
                if guest is not None and Path(guest).is_dir():
                    raise JobError(f"{guest}: a plugin project; build it, and name the .wasm file of plugin {name}")
                if guest is not None:
                    yield Path(guest)
