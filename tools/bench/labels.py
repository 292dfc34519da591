"""Display names and order of forms, policies, workloads and schedulers on pages and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

PROG: Final = "python -m tools.bench"
HEADLINE_POLICY: Final = "nodenumber"
HEADLINE_NODES: Final = 5_000
HERE: Final = "-guest-here"


@dataclass(frozen=True, slots=True)
class Form:
    """A way to run a policy. `family` is the kind of host; each has a colour."""

    name: str
    family: str
    about: str


FORMS: Final = {
    "wat": Form("hand-written wasm", "sandbox", "a guest in WebAssembly text"),
    "go": Form("Go guest", "sandbox", "a guest made with the Go SDK"),
    "tinygo": Form("Go guest (TinyGo)", "sandbox", "the guest of the Go SDK, compiled by TinyGo"),
    "rust": Form("Rust guest", "sandbox", "a guest made with the Rust SDK"),
    "c": Form("C guest", "sandbox", "a guest made with the C SDK"),
    "python": Form("Python guest", "sandbox", "a guest made with the Python SDK"),
    "javascript": Form("JavaScript guest", "sandbox", "a guest made with the JavaScript SDK"),
    "go-extension-guest-here": Form(
        "wasm-extension's guest here", "sandbox", "the guest file of kube-scheduler-wasm-extension on kubewasp"
    ),
    "wazero-guest-here": Form("the stand-in's guest here", "sandbox", "the guest file of the stand-in on kubewasp"),
    "builtin": Form("built in (numpy)", "python", "numpy over whole columns, like the built-in plugins"),
    "in-process": Form("Python in process", "python", "a Python plugin in the scheduler's process, node by node"),
    "callbacks": Form("Python callbacks", "python", "a guest with host functions in Python"),
    "extender-names": Form("extender (names)", "http", "`kubewasp extender` over HTTP, with nodeCacheCapable"),
    "extender-full": Form("extender (whole nodes)", "http", "`kubewasp extender` over HTTP, nodes in every request"),
    "go-extension": Form(
        "wasm-extension (Go)", "peer", "kube-scheduler-wasm-extension's own host with its own guest, in Go on wazero"
    ),
    "wazero": Form(
        "Go on wazero (stand-in)",
        "peer",
        "our own Go host on wazero, one guest call per node and hook; stands in for kube-scheduler-wasm-extension",
    ),
}
FAMILIES: Final = {
    "sandbox": "in kubewasp's sandbox",
    "python": "in Python",
    "http": "over HTTP",
    "peer": "another host",
    "other": "other",
}
POLICIES: Final = {
    "nodenumber": "prefers nodes whose name ends in the same digit as the pod's",
    "label-cpu": "a label and the requested CPU of every node",
    "filter-reasons": "a filter that rejects nodes with reasons",
    "labels": "a label of every node, read from the whole Node object of the classic ABI",
}
WORKLOADS: Final = (
    "basic",
    "node-affinity",
    "topology-spread",
    "pod-affinity",
    "pod-anti-affinity",
    "preemption",
    "unschedulable",
    "mixed-churn",
    "gated",
)
PLUGINS: Final = {
    "none": "no plugin",
    "builtin": "one built-in plugin",
    # Answers of a plugin are reused for pods with the same signature: one for all pods, or one for each. A plugin
    # without signatures evaluates every node for every pod. That is most of the difference, so names always say it.
    "wasm-1": "1 wasm plugin (signs all pods at once)",
    "wasm-1-signed": "1 wasm plugin (signs each pod)",
    "wasm-1-unsigned": "1 wasm plugin (does not sign)",
    "wasm-2": "2 wasm plugins (both sign)",
    "wasm-5": "5 wasm plugins (2 sign)",
    "extender": "an extender",
}
WASM_PLUGINS: Final = tuple(plugins for plugins in PLUGINS if plugins.startswith("wasm-"))
ONE_WASM_PLUGIN: Final = ("wasm-1", "wasm-1-signed", "wasm-1-unsigned")
PLACES: Final = {"real": "on a real API server", "embedded": "embedded, without an API server"}
CYCLES: Final = {
    "unchanged_cycle": "no node changed",
    "changed_cycle": "1 % of the nodes changed",
    "first_cycle": "first cycle",
}
PARTS: Final = {
    "where_crossing": "crossing",
    "where_copying": "copying",
    "where_decoding": "decoding",
    "where_guest": "guest",
    "where_collecting": "collecting",
}


def form(identifier: str) -> Form:
    """An unknown form is shown by its identifier."""
    return FORMS.get(identifier) or Form(identifier, "other", identifier)


def in_order(found: Iterable[str], known: Iterable[str]) -> list[str]:
    """Each name once: known ones in their order, then the others by name."""
    order = {name: place for place, name in enumerate(known)}
    return sorted(set(found), key=lambda name: (order.get(name, len(order)), name))
