"""How forms, policies, workloads and schedulers are called in pictures and pages, and in which order they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADLINE_POLICY: Final = "nodenumber"
HEADLINE_NODES: Final = 5_000
HERE: Final = "-guest-here"


@dataclass(frozen=True, slots=True)
class Form:
    """A way to run a policy. `family` says who runs it, and gives it its colour."""

    name: str
    family: str
    about: str


FORMS: Final = {
    "wat": Form("hand-written wasm", "sandbox", "a guest in WebAssembly text"),
    "go": Form("Go guest", "sandbox", "a guest made with the Go SDK"),
    "python": Form("Python guest", "sandbox", "a guest made with the Python SDK"),
    "go-extension-guest-here": Form(
        "wasm-extension's guest here", "sandbox", "the guest file of kube-scheduler-wasm-extension, run by kubewasp"
    ),
    "wazero-guest-here": Form(
        "the stand-in's guest here", "sandbox", "the guest file of the stand-in, run by kubewasp"
    ),
    "builtin": Form("built in (numpy)", "python", "numpy over whole columns, as the built-in plugins are"),
    "in-process": Form("Python in process", "python", "a Python plugin in the scheduler's process, node by node"),
    "callbacks": Form("Python callbacks", "python", "a guest whose every question is a call of Python"),
    "extender-names": Form("extender (names)", "http", "`kubewasp extender` over HTTP, with nodeCacheCapable"),
    "extender-full": Form("extender (whole nodes)", "http", "`kubewasp extender` over HTTP, nodes in every request"),
    "go-extension": Form(
        "wasm-extension (Go)", "peer", "kube-scheduler-wasm-extension's own host with its own guest, in Go on wazero"
    ),
    "wazero": Form(
        "Go on wazero (stand-in)",
        "peer",
        "a host of our own in Go on wazero that answers call by call; it stands in for kube-scheduler-wasm-extension",
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
    "nodenumber": "pods like nodes whose number ends in the same digit",
    "label-cpu": "a label and the requested CPU of every node",
    "filter-reasons": "a filter that rejects nodes with reasons",
    "labels": "a label of every node, read from the whole Node as the classic ABI has it",
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
    # What a plugin says of a node is kept for the pods that it says are alike: once for all, or by a signature of each
    # pod. The others are asked about every node for every pod. That is the greater part of the difference between
    # these, so it is always told.
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
    "where_guest": "the guest",
    "where_collecting": "collecting",
}


def form(identifier: str) -> Form:
    """A form that is not known here is called what it is called."""
    return FORMS.get(identifier) or Form(identifier, "other", identifier)


def in_order(found: Iterable[str], known: Iterable[str]) -> list[str]:
    """What was found, each once: the known ones in their order, then the others by name."""
    order = {name: place for place, name in enumerate(known)}
    return sorted(set(found), key=lambda name: (order.get(name, len(order)), name))
