"""`kubewasp plugin profile`: functions of a guest by the time that they take in the cycles of `plugin bench`."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.cli.options import ProfileFormat
from kubewasp.cli.plugin_bench import CYCLE, run_cycle, sample_work
from kubewasp.cli.progress import working
from kubewasp.errors import KubewaspError
from kubewasp.k8s.quantity import format_size
from kubewasp.wasm.core import pprof, profiling
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.download import without_credentials
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.input_file import StandardInput
    from kubewasp.wasm.core.profiling import FunctionTime
    from kubewasp.wasm.limits import Limits


@dataclass(frozen=True, slots=True)
class Work:
    """What the guest does while it is sampled: at least so many cycles, and for at least so long."""

    nodes: int
    pods: int
    seconds: float


def run(
    source: str | StandardInput,
    *,
    work: Work,
    top: int,
    target: Path | None,
    profile_format: ProfileFormat | None,
    config: str,
    args: Sequence[str],
    limits: Limits,
    sha256: str | None,
    form: str,
) -> None:
    shown = os.fsencode(without_credentials(str(source))).decode(errors="replace")
    wasm = fetch(source, sha256=sha256, max_bytes=limits.guest_size)
    # Samples are taken in the callback of an epoch.
    module = load_guest_module(wasm, replace(limits, interruption="epoch"))
    if not isinstance(module, CoreModule):
        raise GuestLoadError(
            "a component (a Python or JavaScript plugin) cannot be profiled: the runtime's C interface has no profiler "
            "for components; `kubewasp plugin bench` has the times of its hooks, profilers of Python and Node.js work "
            "on its native tests"
        )
    target, written = _file(target, profile_format)
    progress = working(f"profiling {Path(shown).name}") if output.has_progress() else nullcontext()
    with progress, profiling.recording(module, Path(shown).name) as recorded:
        guest = Guest(module, name=Path(shown).stem, config=config, args=args, limits=limits)
        cycles = _run(guest, work)
    ended_ns = time.time_ns()
    functions = profiling.read(recorded.profile)
    if not functions:
        raise KubewaspError(
            "no samples: the guest ran for less than a millisecond; use more --nodes, --pods or --seconds"
        )
    try:
        target.write_bytes(
            profiling.readable(recorded.profile)
            if written is ProfileFormat.FIREFOX
            else pprof.encode(
                profiling.stacks(recorded.profile),
                guest=Path(shown).name,
                host=profiling.HOST,
                period_ns=round(profiling.PERIOD * 1e9),
                ended_ns=ended_ns,
            )
        )
    except OSError as error:
        raise KubewaspError(f"{target} cannot be written: {error.strerror}") from None
    report = {
        "guest": shown,
        "profile": str(target),
        "profile_format": written.value,
        "profile_bytes": target.stat().st_size,
        "nodes": work.nodes,
        "cycles": cycles,
        "samples": recorded.samples,
        "interval_ms": profiling.PERIOD * 1e3,
        "functions": [_figures(item, recorded.samples, cycles) for item in functions],
    }
    if form != "table":
        output.print_document(report, form)
    else:
        _print(report, top, has_names=any(not item.name.startswith("func[") for item in functions if not item.is_host))


def _file(target: Path | None, wanted: ProfileFormat | None) -> tuple[Path, ProfileFormat]:
    """The file and its format; one that is not given follows from the other."""
    if target is None:
        return Path(
            "profile.pb.gz" if wanted is ProfileFormat.PPROF else "profile.json"
        ), wanted or ProfileFormat.FIREFOX
    of_name = ProfileFormat.PPROF if target.name.endswith((".pb.gz", ".pprof")) else ProfileFormat.FIREFOX
    return target, wanted or of_name


def _run(guest: Guest, work: Work) -> int:
    table, pods = sample_work(work.nodes, work.pods)
    hooks = [hook for hook in CYCLE if hook in guest.hooks]
    until = time.perf_counter() + work.seconds
    done = 0
    while done < work.pods or time.perf_counter() < until:
        run_cycle(guest, pods[done % len(pods)], table, hooks, {})
        done += 1
    return done


def _figures(item: FunctionTime, samples: int, cycles: int) -> dict[str, Any]:
    return {
        "name": item.name,
        "self_us_per_cycle": round(item.own * profiling.PERIOD * 1e6 / cycles, 1),
        "self_percent": round(100 * item.own / samples, 1),
        "total_percent": round(100 * item.total / samples, 1),
        "self_samples": item.own,
        "total_samples": item.total,
    }


def _print(report: dict[str, Any], top: int, *, has_names: bool) -> None:
    viewer = "in profiler.firefox.com" if report["profile_format"] == ProfileFormat.FIREFOX else "with go tool pprof"
    interval = f"{report['interval_ms']:g} ms"
    facts = [
        ("guest", report["guest"]),
        ("cycles", f"{report['cycles']} over {report['nodes']} nodes"),
        ("samples", f"{report['samples']}, every {interval} that the guest runs"),
        ("profile", f"{report['profile']} ({format_size(report['profile_bytes'])}), open it {viewer}"),
    ]
    if not has_names:
        facts.append(("names", "none: the guest was built without a name section (stripped)"))
    output.print_facts(facts)
    output.write("\n")
    rows = [
        (
            f"{item['self_percent']:.1f} %",
            f"{item['total_percent']:.1f} %",
            f"{item['self_us_per_cycle']:,.1f} µs",
            item["name"],
        )
        for item in report["functions"][:top]
    ]
    output.print_table(("SELF", "TOTAL", "SELF A CYCLE", "FUNCTION"), rows, right=("SELF", "TOTAL", "SELF A CYCLE"))
    hidden = len(report["functions"]) - len(rows)
    if hidden > 0:
        output.write(f"… {hidden} more; --top N shows more of them\n")
