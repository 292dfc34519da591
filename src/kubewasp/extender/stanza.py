"""Extender entry for kube-scheduler's configuration, with comments on its effects."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

import yaml

from kubewasp.framework.config.writing import extender_entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.config.model import Extender

_WIDTH: Final = 118
_HEAD: Final = (
    "For kube-scheduler's configuration (KubeSchedulerConfiguration, apiVersion kubescheduler.config.k8s.io/v1). "
    "An extender serves all profiles there.",
    "Effects of an extender on kube-scheduler 1.36:",
    "- Opportunistic batching is off for every profile: no pod is signed.",
    "- Queueing hints do not apply to pods rejected by an extender: nearly any cluster event retries them.",
    "- Ties between nodes scored by an extender are broken at random.",
    "- Each pod waits for the extender, one request after the other. Measured with 5,000 nodes on two cores: "
    "478 pods/s without an extender, 170 with names only, 21 with whole nodes (docs/extender.md).",
)
_FULL_NODES: Final = (
    "- Whole nodes are sent in both directions for each pod. Nodes returned by filter lack pods and images, so "
    "kube-scheduler's own scores (least allocated, spreading, image locality) ignore these. "
    "Names (nodeCacheCapable: true) avoid both.",
)


def entry(extender: Extender) -> dict[str, Any]:
    """The entry as plain data, without default values."""
    defaults = {"enableHTTPS": False, "weight": 0}
    return {name: value for name, value in extender_entry(extender).items() if defaults.get(name, ...) != value}


def text(extender: Extender, *, pre_filter_only: Sequence[str], unused: Mapping[str, Sequence[str]]) -> str:
    """The entry as YAML. `pre_filter_only`: plugins whose only filter is PreFilter; `unused`: points without a verb."""
    head = [*_HEAD, *(() if extender.node_cache_capable or not extender.filter_verb else _FULL_NODES)]
    for plugin, points in unused.items():
        head.append(f"- {plugin} also has {', '.join(points)}: no verb calls these, so they never run.")
    comments = _comments(extender, pre_filter_only)
    lines = _comment(head, "")
    lines.append("extenders:")
    for number, (name, value) in enumerate(entry(extender).items()):
        lines += _comment([comments[name]], "  ") if name in comments else []
        item = yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, width=_WIDTH).rstrip()
        lines += textwrap.indent(item, "  ").splitlines()
        if not number:
            lines[-1] = f"- {lines[-1][2:]}"
    return "\n".join(lines) + "\n"


def _comments(extender: Extender, pre_filter_only: Sequence[str]) -> dict[str, str]:
    found = {
        "prioritizeVerb": "Scores from 0 to 10: a tenth of the weighted mean of the plugins' scores (0 to 100), "
        "rounded half up. kube-scheduler adds them × weight × 10 to its own. After a failed request, the pod is "
        "scheduled without them.",
        "httpTimeout": "Timeout of kube-scheduler for each request. A guest's own timeout should be shorter.",
        "ignorable": "true: while the extender is unreachable or fails, filter and bind go on without it."
        if extender.ignorable
        else "false: while the extender is unreachable or fails, pods stay pending. With true, scheduling goes on "
        "without it; an extender that runs in the cluster needs true for its own pods.",
    }
    if extender.node_cache_capable:
        found["nodeCacheCapable"] = "Requests have names only: the extender must run with --kubeconfig or --in-cluster."
    else:
        found["nodeCacheCapable"] = "Requests have whole nodes, without the pods on them."
        found["preemptVerb"] = "Only nodes of earlier requests can be evaluated; others stay candidates."
    if pre_filter_only:
        found["filterVerb"] = (
            f"{', '.join(pre_filter_only)} can reject pods in PreFilter only. If unused, leave filterVerb and "
            "preemptVerb out: one request less per pod."
        )
    if extender.bind_verb:
        found["bindVerb"] = "The extender, instead of kube-scheduler, binds pods: it must run with --bind."
    if extender.enable_https and extender.tls is None:
        found["enableHTTPS"] = "Without tlsConfig.caFile the certificate is not verified."
    if any(item.ignored_by_scheduler for item in extender.managed_resources):
        found["managedResources"] = (
            "Only pods that request one of these are sent. kube-scheduler does not count a resource with "
            "ignoredByScheduler; these replace ignoredResources of NodeResourcesFit in every profile."
        )
    elif extender.managed_resources:
        found["managedResources"] = "Only pods that request one of these are sent."
    return found


def _comment(paragraphs: Sequence[str], indent: str) -> list[str]:
    return [
        f"{indent}# {line}"
        for paragraph in paragraphs
        for line in textwrap.wrap(
            paragraph, _WIDTH - 4, subsequent_indent="  " if paragraph[0] == "-" else "", break_on_hyphens=False
        )
    ]
