"""kube-scheduler with our extender on one real API server: whole nodes, names only, and no extender at all.

The plugin filters and scores every node that is sent. Needs the servers of the end-to-end tests; they are built once
(minutes). Not part of `make bench`: `--only extender`.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.extender import Extender

from bench.bars import Bar
from bench.live import Run, kube_scheduler, measured, with_extender
from kubewasp.testbed import build as servers_build
from kubewasp.testbed.nodes import FakeNodes
from kubewasp.testbed.servers import ApiServer, Etcd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES = (500, 5000)
_PODS = 1000
_PODS_WITH_WHOLE_NODES = 300
_NEEDED = {500: 1.5, 5000: 3.0}


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("servers (built once)")
    servers_build.programs()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for nodes in sizes():
            with (
                Etcd(root / f"etcd-{nodes}") as etcd,
                ApiServer(root / f"api-{nodes}", etcd) as api,
                FakeNodes(api.client()) as fakes,
            ):
                fakes.create(nodes)
                yield _compared(step, nodes, root, api)


def sizes() -> list[int]:
    """All, or those of $BENCH_EXTENDER, e.g. `500 5000`."""
    return [int(item) for item in os.environ.get("BENCH_EXTENDER", "").split()] or list(NODES)


def _compared(step: Callable[[str], None], nodes: int, root: Path, api: ApiServer) -> Bar:
    def run(what: str, pods: int, scheduler: Callable[[], object]) -> Run:
        step(f"{nodes:,} nodes, {pods:,} pods: {what}")
        return measured(api, pods, scheduler)

    alone = run("no extender", _PODS, partial(kube_scheduler, root, api))
    names = run("names only", _PODS, partial(_extended, root, api, names_only=True))
    whole = run("whole nodes", _PODS_WITH_WHOLE_NODES, partial(_extended, root, api, names_only=False))
    plain = run("whole nodes, prioritize only, plain Python", _PODS_WITH_WHOLE_NODES, partial(with_extender, root, api))
    note = f"no extender {alone}; names only {names}; whole nodes {whole}; plain Python, prioritize only {plain}"
    return Bar(f"{nodes:,} nodes: extender with names only against whole nodes",
               names.rate / whole.rate, "x", at_least=_NEEDED.get(nodes, 1.0), note=note)  # fmt: skip


@contextmanager
def _extended(root: Path, api: ApiServer, *, names_only: bool) -> Iterator[int]:
    folder = root / f"extender-{time.monotonic_ns()}"
    with (
        Extender(folder, api, names_only=names_only) as extender,
        kube_scheduler(root, api, extenders=[extender.entry(httpTimeout="30s")]) as pid,
    ):
        yield pid
