"""Counts of what a cycle costs: they do not depend on the machine or on what else it does, so a change shows at once.

Fuel is what wasmtime counts for a guest's instructions. Bytes and calls are those between Python and the guest, in both
directions. Calls of Python functions stand for the time that Python takes; allocated is the most memory that a cycle
has at one time, of what Python and numpy allocate.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.reading import default_config
from kubewasp.k8s import sample_cluster
from kubewasp.scheduler import profiles
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tools.bench.compare import compare
from tools.bench.forms.guest import Go, GuestForm, Python, Wat
from tools.bench.forms.native import BuiltIn, InProcess
from tools.bench.guests import Unavailable
from tools.bench.model import Measurement, Skipped
from tools.bench.policies.policy_list import POLICIES
from tools.bench.policies.clusters import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.bench.compare import Change
    from tools.bench.forms.form import Form
    from tools.bench.model import Result

    Meter = Callable[[Form, int], dict[str, tuple[str, float]]]

LAYER: Final = "counts"
NODES: Final = 1000
FORMS: Final[dict[str, type[Any]]] = {
    "builtin": BuiltIn,
    "in-process": InProcess,
    "wat": Wat,
    "go": Go,
    "python": Python,
}
# Until everything that is kept from one cycle to the next is there.
_SETTLING: Final = 5
_PODS: Final = 50
# How much more is a regression: a share of what it was, and so much at least. What is left to chance in a count is
# less: whether a table of Python's grows in this cycle or in the next, whether the thread that counts ticks is asleep,
# how many digits a generation has that is sent as text.
_TOLERANCES: Final = {
    "fuel": (0.01, 0),
    "bytes_copied": (0.01, 0),
    "python_calls": (0.02, 20),
    "allocated": (0.15, 16_384),
}
# componentize-py takes a picture of a running interpreter, in which hashes and addresses are others in every build.
_PYTHON_BUILDS: Final = 0.05
# What a count depends on besides kubewasp: with another version of it, it cannot be compared.
_MADE_WITH: Final = {"go": ("go",), "python": ("componentize-py",), "wat": (), "scheduling": ("python", "numpy")}
_COUNTED_WITH: Final = {"fuel": ("wasmtime",), "python_calls": ("python", "numpy"), "allocated": ("python", "numpy")}


def steps() -> int:
    return len(POLICIES) * len(FORMS) + 1


def measure(step: Callable[[str], None]) -> Iterator[Measurement | Skipped]:
    cluster = Cluster(NODES)
    for policy in POLICIES:
        for name, kind in FORMS.items():
            step(f"{policy}, {name}")
            try:
                yield from _form(kind, name, policy, cluster)
            except Unavailable as error:
                yield Skipped(LAYER, f"{policy}, {name}", str(error))
    step("whole scheduling")
    yield from _scheduling()


def _form(kind: type[Any], name: str, policy: str, cluster: Cluster) -> Iterator[Measurement]:
    is_guest = issubclass(kind, GuestForm)
    meters: list[Meter] = [_python_calls, _allocated]
    for meter in [_boundary, *meters] if is_guest else meters:
        # Guests count fuel even where nobody asks for it: their time limit is then so long that the nodes are always
        # handed over in the same batches.
        form = kind(policy, cluster, fueled=True) if is_guest else kind(policy, cluster)
        form.prepare()
        form.load()
        for cycle, pod in (("first", 0), ("unchanged", _SETTLING), ("changed", _SETTLING + 1)):
            if cycle == "unchanged":
                for earlier in range(1, _SETTLING):
                    form.cycle(earlier)
            elif cycle == "changed":
                form.change(1)
            case: dict[str, str | int] = {"policy": policy, "form": name, "nodes": NODES, "cycle": cycle}
            for metric, (unit, value) in meter(form, pod).items():
                yield Measurement(LAYER, case, metric, unit, (value,), exact=True)
        form.close()


def _boundary(form: Form, pod: int) -> dict[str, tuple[str, float]]:
    if not isinstance(form, GuestForm):
        raise TypeError(form)
    _, found = form.counted(pod)
    return {
        "fuel": ("units", found.fuel),
        "bytes_copied": ("bytes", found.bytes_copied),
        "calls": ("calls", found.calls_in + found.calls_out),
    }


def _python_calls(form: Form, pod: int) -> dict[str, tuple[str, float]]:
    return {"python_calls": ("calls", counted_calls(lambda: form.cycle(pod)))}


def _allocated(form: Form, pod: int) -> dict[str, tuple[str, float]]:
    with _no_collection():
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        form.cycle(pod)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return {"allocated": ("bytes", peak - before)}


def counted_calls(work: Callable[[], object]) -> int:
    """How many functions are called by this thread, those of Python and those of C."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with _no_collection():
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(None)
    return calls


@contextmanager
def _no_collection() -> Iterator[None]:
    """What is collected depends on all that went before."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _scheduling() -> Iterator[Measurement]:
    """A pod's way through the whole scheduler: calls of Python functions a pod."""
    cluster = EmbeddedCluster()
    profiles.start(cluster.scheduler, default_config())
    for manifest in sample_cluster.nodes(NODES):
        cluster.apply(manifest)

    def schedule(first: int) -> None:
        for number in range(first, first + _PODS):
            manifest = sample_cluster.pod(f"web-{number}")
            cluster.apply(manifest | {"spec": manifest["spec"] | {"schedulerName": "default-scheduler"}})

    def drain() -> None:
        while cluster.scheduler.schedule_one() is not None:
            pass

    schedule(0)
    drain()
    schedule(_PODS)
    case: dict[str, str | int] = {
        "policy": "default plugins",
        "form": "scheduling",
        "nodes": NODES,
        "cycle": "unchanged",
    }
    calls = counted_calls(drain) / _PODS
    yield Measurement(LAYER, case, "python_calls", "calls", (calls,), exact=True)


def regressions(baseline: Result, found: Result) -> list[Change]:
    """What costs more than in the baseline, beyond what is left to chance."""
    return [change for change in compare(_comparable(baseline, found), found).worse if _is_beyond(change)]


def not_comparable(baseline: Result, found: Result) -> list[str]:
    """What was made or counted with another version than in the baseline, in words."""
    kept = {one.key for one in _comparable(baseline, found).measurements}
    left_out = [one for one in baseline.measurements if one.layer == LAYER and one.key not in kept]
    names = {name for one in left_out for name in _differing(one, baseline, found)}
    return [
        f"{name} {found.versions.get(name, 'not there')}, not {baseline.versions.get(name, 'there')}"
        for name in sorted(names)
    ]


def _comparable(baseline: Result, found: Result) -> Result:
    counted = [one for one in baseline.measurements if one.layer == LAYER]
    same = [one for one in counted if not _differing(one, baseline, found)]
    return replace(baseline, measurements=same)


def _differing(one: Measurement, baseline: Result, found: Result) -> list[str]:
    tools = {*_MADE_WITH.get(str(one.case["form"]), ()), *_COUNTED_WITH.get(one.metric, ())}
    return [name for name in tools if _minor(baseline, name) != _minor(found, name)]


def _minor(result: Result, name: str) -> str:
    """Patches of Python leave counts as they are; of all else, the whole version counts."""
    version = result.versions.get(name, "")
    return ".".join(version.split(".")[:2]) if name == "python" else version


def _is_beyond(change: Change) -> bool:
    share, least = _TOLERANCES.get(change.after.metric, (0.0, 0))
    if change.after.case["form"] == "python":
        share = max(share, _PYTHON_BUILDS)
    before, after = change.before.median, change.after.median
    return after - before > max(share * before, least)
