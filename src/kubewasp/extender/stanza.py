"""The entry for kube-scheduler's configuration that makes it ask this extender, with comments on what that means."""

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
    "What kube-scheduler 1.36 does differently once an extender is configured:",
    "- Opportunistic batching is off for every profile: no pod is signed.",
    "- Queueing hints are no help to pods that an extender rejected: nearly any change in the cluster retries them.",
    "- Nodes that an extender has scored and that are equal are chosen from at random.",
    "- Each pod waits for the extender, one request after the other. Measured with 5,000 nodes on two cores: "
    "478 pods/s without an extender, 170 with names only, 21 with whole nodes (docs/extender.md).",
)
_FULL_NODES: Final = (
    "- Whole nodes go both ways for each pod. The nodes that come back from filter have lost their pods and images, "
    "so kube-scheduler's own scores (least allocated, spreading, image locality) no longer see them. "
    "With names only (nodeCacheCapable: true) none of this happens.",
)


def entry(extender: Extender) -> dict[str, Any]:
    """As data, without what is left at its default."""
    defaults = {"enableHTTPS": False, "weight": 0}
    return {name: value for name, value in extender_entry(extender).items() if defaults.get(name, ...) != value}


def text(extender: Extender, *, pre_filter_only: Sequence[str], not_asked: Mapping[str, Sequence[str]]) -> str:
    """YAML to paste. `pre_filter_only` and `not_asked` are plugins about which there is something to say."""
    head = [*_HEAD, *(() if extender.node_cache_capable or not extender.filter_verb else _FULL_NODES)]
    for plugin, points in not_asked.items():
        head.append(f"- {plugin} also has {', '.join(points)}: no extender is asked there, so these never run.")
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
        "prioritizeVerb": "Scores come as 0 to 10: the weighted mean of the plugins' scores (0 to 100), a tenth of it, "
        "rounded half up. kube-scheduler adds them × weight × 10 to its own. If it cannot ask, there are no scores, "
        "and the pod is placed without.",
        "httpTimeout": "How long kube-scheduler waits for each request. A guest's own timeout should be shorter.",
        "ignorable": "true: if the extender cannot be asked or fails, filter and bind go on as if it were not there."
        if extender.ignorable
        else "false: if the extender cannot be asked or fails, pods are not scheduled until it can. "
        "true would have them go on without it. An extender that runs in the cluster needs true for its own pods.",
    }
    if extender.node_cache_capable:
        found["nodeCacheCapable"] = "Only names are sent: the extender must run with --kubeconfig or --in-cluster."
    else:
        found["nodeCacheCapable"] = "Whole nodes are sent, without the pods on them."
        found["preemptVerb"] = "Only nodes that were sent for some pod before can be judged; others stay candidates."
    if pre_filter_only:
        found["filterVerb"] = (
            f"{', '.join(pre_filter_only)} can turn pods down in PreFilter only. If that is not used, leave filterVerb "
            "and preemptVerb out: one request less for each pod."
        )
    if extender.bind_verb:
        found["bindVerb"] = "The extender binds pods instead of kube-scheduler; it must run with --bind."
    if extender.enable_https and extender.tls is None:
        found["enableHTTPS"] = "Without tlsConfig.caFile the certificate is not verified."
    if any(item.ignored_by_scheduler for item in extender.managed_resources):
        found["managedResources"] = (
            "Only pods that ask for one of these are sent. What is ignoredByScheduler is counted by no one but your "
            "plugin; and it replaces ignoredResources of NodeResourcesFit in every profile."
        )
    elif extender.managed_resources:
        found["managedResources"] = "Only pods that ask for one of these are sent."
    return found


def _comment(paragraphs: Sequence[str], indent: str) -> list[str]:
    return [
        f"{indent}# {line}"
        for paragraph in paragraphs
        for line in textwrap.wrap(
            paragraph, _WIDTH - 4, subsequent_indent="  " if paragraph[0] == "-" else "", break_on_hyphens=False
        )
    ]
