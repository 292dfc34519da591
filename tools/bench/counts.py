"""Machine-independent counts: cycles of every form here, other hot paths in path_counts.py; comparison with a baseline.

Fuel is wasmtime's count of guest instructions. Bytes and calls are those between Python and the guest, in both
directions. Load checks are those put into a module. Python calls stand for the time spent in Python; allocated is the
peak of the memory that Python and numpy allocate in a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.wasm import binary
from kubewasp.wasm.load_checks import with_checks
from tools.bench import agreement, path_counts
from tools.bench.compare import compare
from tools.bench.forms.form import BuiltIn, InProcess
from tools.bench.forms.guest import C, Go, GuestForm, Python, Rust, Wat
from tools.bench.guests import Unavailable
from tools.bench.meters import counted_calls, peak_allocated
from tools.bench.model import Measurement, Skipped
from tools.bench.policies.clusters import Cluster
from tools.bench.policies.policy_list import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tools.bench.compare import Change
    from tools.bench.forms.form import Form
    from tools.bench.model import Result

    Meter = Callable[[Form, int], dict[str, tuple[str, float]]]

LAYER: Final = path_counts.LAYER
NODES: Final = path_counts.NODES
FORMS: Final[dict[str, type[Any]]] = {
    "builtin": BuiltIn,
    "in-process": InProcess,
    "wat": Wat,
    "go": Go,
    "rust": Rust,
    "c": C,
    "python": Python,
}
# Cycles until all caches are filled.
_SETTLING: Final = 5
# Growth beyond these is a regression: a share of the baseline, and an absolute amount at least. Chance is less: growth
# of a Python table in this cycle or the next, a sleeping ticker thread, digits of a generation sent as text.
_TOLERANCES: Final = {
    "fuel": (0.01, 0),
    "load_checks": (0.02, 0),
    "bytes_copied": (0.01, 0),
    "python_calls": (0.02, 20),
    "allocated": (0.15, 16_384),
}
# Operations of paths without a guest are small and counted per operation.
_PATH_TOLERANCES: Final = {"python_calls": (0.02, 4), "allocated": (0.15, 2_048)}
# componentize-py takes a snapshot of a running interpreter; hashes and addresses in it differ from build to build.
_PYTHON_BUILDS: Final = 0.05
# Tools behind a count, besides kubewasp: counts made with another version are not compared.
_MADE_WITH: Final = {
    "go": ("go",),
    "rust": ("rust",),
    "c": ("zig",),
    "python": ("componentize-py",),
    "wat": (),
    path_counts.HOST: ("python", "numpy", "protobuf"),
}
_COUNTED_WITH: Final = {"fuel": ("wasmtime",), "python_calls": ("python", "numpy"), "allocated": ("python", "numpy")}


@dataclass(frozen=True, slots=True)
class Plan:
    """Policies, each in these forms, and other paths."""

    policies: tuple[str, ...] = POLICIES
    forms: tuple[str, ...] = tuple(FORMS)
    paths: tuple[str, ...] = tuple(path_counts.PATHS)

    @classmethod
    def of(cls, only: Sequence[str]) -> Plan:
        """Everything, or the named policies (in all forms, or the named ones) and paths."""
        known = (*POLICIES, *FORMS, *path_counts.PATHS)
        for name in only:
            if name not in known:
                raise KubewaspError(f"there is no policy, form or path {name!r}; there are {', '.join(known)}")
        if not only:
            return cls()
        policies, forms, paths = (
            tuple(name for name in names if name in only) for names in (POLICIES, FORMS, path_counts.PATHS)
        )
        return cls(policies or (POLICIES if forms else ()), forms or tuple(FORMS), paths)


def steps(plan: Plan) -> int:
    return len(plan.policies) * len(plan.forms) + len(plan.paths)


def measure(step: Callable[[str], None], plan: Plan) -> Iterator[Measurement | Skipped]:
    cluster = Cluster(NODES)
    for policy in plan.policies:
        for name in plan.forms:
            step(f"{policy}, {name}")
            try:
                agreement.check(name, policy)  # before its cost: an answer that is wrong may be cheap
                yield from _form(FORMS[name], name, policy, cluster)
            except Unavailable as error:
                yield Skipped(LAYER, f"{policy}, {name}", str(error))
    yield from path_counts.measure(step, plan.paths)


def _form(kind: type[Any], name: str, policy: str, cluster: Cluster) -> Iterator[Measurement]:
    is_guest = issubclass(kind, GuestForm)
    meters: list[Meter] = [_python_calls, _allocated]
    for meter in [_boundary, *meters] if is_guest else meters:
        # Always with fuel: the time limit is then so long that batches of nodes do not depend on time.
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
        if meter is _boundary and not form.is_component:
            case = {"policy": policy, "form": name, "nodes": NODES, "cycle": "module"}
            checks = with_checks(binary.without_start(form.wasm.read_bytes())).checks
            yield Measurement(LAYER, case, "load_checks", "checks", (checks,), exact=True)
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
    return {"allocated": ("bytes", peak_allocated(lambda: form.cycle(pod)))}


def regressions(baseline: Result, found: Result) -> list[Change]:
    """Counts above the baseline, beyond chance."""
    return [change for change in compare(_comparable(baseline, found), found).worse if _is_beyond(change)]


def not_comparable(baseline: Result, found: Result) -> list[str]:
    """Tools with another version than in the baseline, in words."""
    kept = {one.key for one in _comparable(baseline, found).measurements}
    left_out = [one for one in baseline.measurements if one.layer == LAYER and one.key not in kept]
    names = {name for one in left_out for name in _differing(one, baseline, found)}
    return [
        f"{name} {found.versions.get(name, 'absent')}, in the baseline {baseline.versions.get(name, 'absent')}"
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
    """The version relevant for counts: without the patch number for Python, else all of it."""
    version = result.versions.get(name, "")
    return ".".join(version.split(".")[:2]) if name == "python" else version


def _is_beyond(change: Change) -> bool:
    tolerances = _PATH_TOLERANCES if change.after.case["form"] == path_counts.HOST else _TOLERANCES
    share, least = tolerances.get(change.after.metric, (0.0, 0))
    if change.after.case["form"] == "python":
        share = max(share, _PYTHON_BUILDS)
    before, after = change.before.median, change.after.median
    return after - before > max(share * before, least)
