"""Counts of the hot paths outside of guests: Python calls and peak allocation per operation.

Each path is one generator of operations on a cluster of fixed size. An operation runs some times until all caches are
filled, then it is counted.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.apiserver.http_connection import Access
from kubewasp.apiserver.raw_object import FrameReader, Page, RawObject, watch_event
from kubewasp.apiserver.transport import PROTOBUF, Transport
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender import verb_plugins
from kubewasp.extender.sent_nodes import SentNodes
from kubewasp.extender.service import ExtenderService
from kubewasp.framework.config.reading import default_config, read_config
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.framework.observer import NO_OBSERVER, SchedulerObserver
from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import decode, encode, wrap_unknown
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser, placed_on
from kubewasp.k8s.schema import message_class
from kubewasp.lab.traces.playback import TraceRun
from kubewasp.lab.traces.trace import TracePod
from kubewasp.scheduler.composition import Environment, compose, set_up
from kubewasp.server.guest_lines import CallLines
from kubewasp.server.http_framing import RequestReader
from kubewasp.server.immediate import immediate_scope
from kubewasp.server.metrics import Metrics
from kubewasp.server.request_metrics import RequestMetrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import INTERRUPTIONS, Limits
from kubewasp.web.app import create_app
from kubewasp.web.web_config_loader import read_web_config
from tools.bench import guests, talking_guest
from tools.bench.bars import web
from tools.bench.bars.cycle import labelled_pod, with_affinity, with_spread
from tools.bench.guests import Unavailable
from tools.bench.meters import counted_calls, peak_allocated
from tools.bench.model import Measurement, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.server.logs import LogFormat
    from kubewasp.wasm.guest_log import HookLog

    Operation = Callable[[], object]

LAYER: Final = "counts"
NODES: Final = 1000
HOST: Final = "host"  # the form of paths without a guest
_SETTLING: Final = 10
_TIMES: Final = 10
_BATCHES: Final = 4  # the least counts: a busy machine interrupts guests more often, and so adds calls
_PEAKS: Final = 5
_WHOLE_NODES: Final = 100
_WAITING: Final = 200
_LABELS: Final = {"app": "trace"}  # one object, as in a trace
_SPECS: Final = {
    cpu: {"containers": [{"name": "main", "image": "trace", "resources": {"requests": {"cpu": cpu}}}]}
    for cpu in ("100m", "1000")
}
_REUSES: Final = 200  # calls until the node memory of a path before is free: each frees a part of it


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a path, on so many nodes."""

    name: str
    operation: Operation
    nodes: int = NODES


def measure(step: Callable[[str], None], paths: Sequence[str]) -> Iterator[Measurement | Skipped]:
    for path in paths:
        step(path)
        try:
            for one in PATHS[path]():
                yield from _counts(path, one)
        except Unavailable as error:
            yield Skipped(LAYER, path, str(error))


def _counts(path: str, step: Step) -> Iterator[Measurement]:
    case: dict[str, str | int] = {"policy": path, "form": HOST, "nodes": step.nodes, "cycle": step.name}
    for _ in range(_SETTLING):
        step.operation()

    def repeat() -> None:
        for _ in range(_TIMES):
            step.operation()

    calls = round(min(counted_calls(repeat) for _ in range(_BATCHES)) / _TIMES)
    yield Measurement(LAYER, case, "python_calls", "calls", (calls,), exact=True)
    peak = peak_allocated(step.operation, _PEAKS)
    yield Measurement(LAYER, case, "allocated", "bytes", (peak,), exact=True)


# ---------------------------------------------------------------------- scheduler


def _scheduling() -> Iterator[Step]:
    """Scheduler, cycle, framework runtime, node table, default plugins; with metrics, as in `kubewasp run`."""
    cluster = _cluster(default_config())
    names = itertools.count()
    for name, change in (("plain pod", None), ("spread", with_spread), ("inter-pod affinity", with_affinity)):
        yield Step(name, _scheduled(cluster, names, change))
    observed = _cluster(default_config(), SchedulerMetrics(Metrics(), chance=lambda: 0.0))
    yield Step("with metrics", _scheduled(observed, names))


def _signing() -> Iterator[Step]:
    """The same with a guest that signs each pod: signatures, cached answers, calls for changed nodes."""
    wasm = guests.guest("nodenumber-signed", "go")
    cluster = _cluster(default_config().with_wasm_plugin("signed", str(wasm)))
    yield Step("plain pod", _scheduled(cluster, itertools.count()))


def _counting() -> Iterator[Step]:
    """A guest that normalizes by its hook and is called for every node; and the same, pure, normalized by the host."""
    wasm = guests.guest("podcount", "go")
    for name, config in (("called for every node", ""), ("pure", "declared")):
        cluster = _cluster(default_config().with_wasm_plugin("podcount", str(wasm), config))
        yield Step(name, _scheduled(cluster, itertools.count()))


def _traces() -> Iterator[Step]:
    """A run of a trace in its steady state: a pod arrives and another one ends. Waiting pods must not add to it."""
    for name, waiting in (("pod arrives, pod ends", 0), (f"with {_WAITING} waiting pods", _WAITING)):
        cluster = _cluster(default_config())
        arrivals = itertools.chain(
            (_traced(f"huge-{number}", 0.0, None, "1000") for number in range(waiting)),
            (_traced(f"pod-{number}", float(number), 30.0, "100m") for number in itertools.count()),
        )
        TraceRun(cluster, arrivals).run(60.0)
        yield Step(name, lambda cluster=cluster: cluster.settle(cluster.clock.now() + 1.0))  # type: ignore[misc]


def _traced(name: str, arrival: float, duration: float | None, cpu: str) -> TracePod:
    return TracePod(name, "default", arrival, duration, _SPECS[cpu], _LABELS, {})


def _updates() -> Iterator[Step]:
    """Node and pod events: node table rows, pod index, queue."""
    cluster = _cluster(default_config())
    events, turns = cluster.scheduler.events, itertools.count()
    heartbeats = [_node(1, heartbeat=f"2026-01-01T00:00:0{second}Z") for second in range(2)]
    relabelled = [_node(2, label=value) for value in ("a", "b")]
    yield Step("node heartbeat", lambda: events.put_node(heartbeats[next(turns) % 2]))
    yield Step("node labels", lambda: events.put_node(relabelled[next(turns) % 2]))
    manifest = labelled_pod("bound", 1)
    bound = placed_on(PodParser().parse(manifest, encode("Pod", manifest)), "node-3")

    def come_and_go() -> None:
        events.put_pod(bound)
        events.delete_pod(bound)

    yield Step("pod added and deleted", come_and_go)


def _cluster(config: SchedulerConfig, observer: SchedulerObserver = NO_OBSERVER) -> EmbeddedCluster:
    cluster = EmbeddedCluster(set_up(config, observer=observer))
    for manifest in sample_cluster.nodes(NODES):
        cluster.apply(manifest)
    return cluster


def _scheduled(
    cluster: EmbeddedCluster, names: Iterator[int], change: Callable[[dict[str, Any]], None] | None = None
) -> Operation:
    """One attempt per call. All pods are in the queue before the first."""
    for _ in range(_SETTLING + _BATCHES * _TIMES + _PEAKS):
        manifest = labelled_pod(f"new-{next(names)}", 1)
        if change is not None:
            change(manifest["spec"])
        cluster.apply(manifest)

    def attempt() -> None:
        made = cluster.scheduler.schedule_one()
        if made is None or not made.node:
            raise RuntimeError(f"pod not scheduled: {made}")

    return attempt


def _node(number: int, *, heartbeat: str = "", label: str = "") -> Any:
    manifest = sample_cluster.node(number)
    if heartbeat:
        conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}]
        manifest |= {"status": manifest["status"] | {"conditions": conditions}}
    if label:
        labels = manifest["metadata"]["labels"] | {"example.com/label": label}
        manifest |= {"metadata": manifest["metadata"] | {"labels": labels}}
    return parse_node(manifest, encode("Node", manifest))


# ---------------------------------------------------------------------- API server


def _codec() -> Iterator[Step]:
    parser = PodParser()
    objects = {"Node": sample_cluster.node(7), "Pod": labelled_pod("web", 1)}
    for kind, manifest in objects.items():
        data = encode(kind, manifest)
        yield Step(f"encode {kind}", partial(encode, kind, manifest))
        yield Step(f"decode {kind}", partial(decode, kind, data))
    node, pod = (encode(kind, manifest) for kind, manifest in objects.items())
    yield Step("parse Node", lambda: parse_node(objects["Node"], node))
    yield Step("parse Pod", lambda: parser.parse(objects["Pod"], pod))


def _watching() -> Iterator[Step]:
    """Watch events out of a chunk of bytes, and the pages of a list."""
    raw = encode("Node", sample_cluster.node(7))
    chunk = 10 * _frame(raw)
    reader = FrameReader()

    def events() -> None:
        for frame in reader.feed(chunk):
            _ = RawObject(watch_event(frame).data).key

    yield Step("10 watch events", events)
    items = (encode("Node", sample_cluster.node(number)) for number in range(1, 11))
    metadata = b"\x0a\x03\x12\x011"  # resourceVersion 1
    page = _wrapped("NodeList", metadata + b"".join(b"\x12" + _varint(len(item)) + item for item in items))
    yield Step("list of 10 nodes", lambda: [item.key for item in Page(page).items])


def _frame(raw: bytes) -> bytes:
    extension: Any = message_class("runtime.RawExtension")(raw=_wrapped("Node", raw))
    event: Any = message_class("apis.meta.v1.WatchEvent")(type="MODIFIED", object=extension.SerializeToString())
    content: bytes = event.SerializeToString()
    return struct.pack(">I", len(content)) + content


def _varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + _varint(value >> 7)


def _wrapped(kind: str, raw: bytes) -> bytes:
    return wrap_unknown("v1", kind, raw)


def _requests() -> Iterator[Step]:
    """A binding over a kept connection. Written bytes are answered at once, in the same thread."""
    loop = _LoopbackLoop()
    access = Access("http://127.0.0.1:1")
    metrics = RequestMetrics(Metrics(), "127.0.0.1:1")
    transport = Transport(metrics.answered)
    body = encode("Pod", labelled_pod("web", 1))

    async def post() -> None:
        path = "/api/v1/namespaces/default/pods/web/binding"
        asked = {"query": None, "content_type": PROTOBUF, "accept": PROTOBUF, "timeout": 30.0}
        await transport.send(access, "POST", path, body=body, **asked)  # type: ignore[arg-type]

    yield Step("binding", lambda: loop.run_until_complete(post()))
    loop.close()


class _LoopbackLoop(asyncio.SelectorEventLoop):
    """An event loop whose connections are answered in place."""

    async def create_connection(self, factory: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        connection = factory()
        transport = _Loopback(connection)
        connection.connection_made(transport)
        return transport, connection


class _Loopback(asyncio.Transport):
    """The server side of a connection: the same answer to every request."""

    _ANSWER: Final = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

    def __init__(self, connection: asyncio.BufferedProtocol) -> None:
        super().__init__()
        self._connection = connection

    def is_closing(self) -> bool:
        return False

    def write(self, _data: object) -> None:
        size = len(self._ANSWER)
        memoryview(self._connection.get_buffer(size))[:size] = self._ANSWER
        self._connection.buffer_updated(size)

    def abort(self) -> None: ...


# ---------------------------------------------------------------------- servers


def _extending() -> Iterator[Step]:
    """Requests of kube-scheduler with names only and with whole nodes, from body to body."""
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": name} for name in ("NodeResourcesFit", "NodeAffinity")]}}
    }
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    manifests = [
        node | {"metadata": node["metadata"] | {"uid": f"uid-{number}", "resourceVersion": "1"}}
        for number, node in enumerate(sample_cluster.nodes(NODES))
    ]
    pod = labelled_pod("web", 1)
    names = [node["metadata"]["name"] for node in manifests]
    whole = {"metadata": {}, "items": manifests[:_WHOLE_NODES]}
    bodies = (
        ("names", NODES, {"Pod": pod, "Nodes": None, "NodeNames": names}),
        (f"{_WHOLE_NODES} whole nodes", _WHOLE_NODES, {"Pod": pod, "Nodes": whole, "NodeNames": None}),
    )
    for kind, nodes, request in bodies:
        scheduler = compose(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient()))
        setup = set_up(read_config(document | {"profiles": [profile]}))
        wanted = verb_plugins.restricted(setup.profiles, all_plugins=True)
        sent = None if kind == "names" else SentNodes(scheduler.events, SYSTEM_CLOCK)
        frameworks = verb_plugins.frameworks(setup.registry, wanted, scheduler.handle)
        service = ExtenderService(scheduler.table, frameworks, sent=sent)
        if sent is None:
            for manifest in manifests:
                scheduler.events.put_node(parse_node(manifest, encode("Node", manifest)))
        body = orjson.dumps(request)
        yield Step(f"filter, {kind}", partial(service.filter, body), nodes)
        yield Step(f"prioritize, {kind}", partial(service.prioritize, body), nodes)


def _handlers() -> Iterator[Step]:
    """HTTP requests to guests of each style; guests run in the thread of the event loop here.

    Requests of the styles `module` and `http-wasm` are short, whatever time they take on a busy machine.
    """
    app = create_app(read_web_config(web.document(("module", "middleware", "wasi"))))
    loop = _InlineLoop()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    def mark_short(path: str) -> None:
        pipeline = app.table.routes.match(path, "GET").pipeline
        if pipeline is not None:
            pipeline.pace.is_short = True

    def scope_of(path: str) -> dict[str, Any]:
        found = RequestReader().head(bytearray(f"GET {path} HTTP/1.1\r\nHost: example.com\r\n\r\n".encode()))
        scope = found and immediate_scope(found[0], ("127.0.0.1", 1), ("127.0.0.1", 2), "http")
        return dict(scope or {})

    def asked(scope: dict[str, Any]) -> None:
        sent.clear()
        mark_short(scope["path"])
        loop.run_until_complete(app(dict(scope), receive, send))
        if sent[0]["status"] != 200:
            raise RuntimeError(f"{scope['path']}: {sent}")

    def asked_at_once(path: str) -> None:
        mark_short(path)
        answer = app.immediate(scope_of(path))
        if not answer or not answer.message((), is_head=False).startswith(b"HTTP/1.1 200 OK"):
            raise RuntimeError(f"{path}: {answer}")

    for style in ("module", "middleware"):
        yield Step(f"{style}, immediate", partial(asked_at_once, f"/{style}"))
    for style in ("module", "middleware", "wasi"):
        yield Step(style, partial(asked, scope_of(f"/{style}")))
    app.close()
    loop.close()


def _guest_log() -> Iterator[Step]:
    """A log line per node: a hook call takes them out of the sandbox, another thread formats them."""
    kept = talking_guest.Kept()
    run = talking_guest.filtering(NODES, kept)
    run()
    call = kept.call
    if call is None or call.log.lines != NODES:
        raise RuntimeError("a line per node expected")
    formats: tuple[LogFormat, ...] = ("text", "json")
    for format_ in formats:
        yield Step(f"{format_} lines", partial(_formatted, call, format_))
    for _ in range(_REUSES):
        run()
    yield Step("hook call", run)


def _formatted(call: HookLog, format_: LogFormat) -> None:
    lines = CallLines(call, format_)
    for block in call.log.blocks():
        lines.render([(entry, 1) for entry in block])


def _interruption() -> Iterator[Step]:
    """Cycles of a guest that is ended by load checks, and by epochs: timers and limits of each call."""
    pod = encode("Pod", sample_cluster.pod())
    nodes = NodeTable.of(Nodes(sample_cluster.nodes(NODES)))
    wasm = guests.guest("nodenumber", "wat")
    for interruption in INTERRUPTIONS:
        guest = Guest.load(wasm, limits=Limits(call_timeout=60, cycle_timeout=60, interruption=interruption))

        def call(guest: Guest = guest) -> None:
            with guest.cycle(pod, nodes) as cycle:
                cycle.score()

        yield Step(f"{interruption}, score", call)


class _InlineLoop(asyncio.SelectorEventLoop):
    """Work for threads runs at once: only calls of one thread can be counted."""

    def run_in_executor(self, _executor: object, work: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        done = self.create_future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001 - as an executor does
            done.set_exception(error)
        return done


PATHS: Final[dict[str, Callable[[], Iterator[Step]]]] = {
    "default plugins": _scheduling,
    "signing guest": _signing,
    "counting guest": _counting,
    "traces": _traces,
    "updates": _updates,
    "wire codec": _codec,
    "watch": _watching,
    "requests": _requests,
    "extender": _extending,
    "web handlers": _handlers,
    "guest log": _guest_log,
    "interruption": _interruption,
}
