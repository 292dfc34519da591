"""Registration table of the built-in plugins: order, weight, class and extension points.

All are enabled by default, in this order. Classes are named, not imported: plugins are above this layer, and a
configuration can be checked without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DefaultPlugin:
    """One entry. `home` is `module:Class`; a weight of 0 means none given and counts as 1."""

    name: str
    home: str
    points: frozenset[str]
    weight: int = 0


def _plugin(module: str, name: str, points: str, weight: int = 0) -> DefaultPlugin:
    return DefaultPlugin(name, f"kubewasp.plugins.{module}:{name}", frozenset(points.split()), weight)


DEFAULT_PLUGINS: Final = (
    _plugin("scheduling_gates", "SchedulingGates", "preEnqueue"),
    _plugin("priority_sort", "PrioritySort", "queueSort"),
    _plugin("node_unschedulable", "NodeUnschedulable", "filter"),
    _plugin("node_name", "NodeName", "filter"),
    _plugin("taint_toleration", "TaintToleration", "filter preScore score", 3),
    _plugin("node_affinity", "NodeAffinity", "preFilter filter preScore score", 2),
    _plugin("node_ports", "NodePorts", "preFilter filter"),
    _plugin("node_resources_fit", "NodeResourcesFit", "preFilter filter preScore score placementScore", 1),
    _plugin("volume_restrictions", "VolumeRestrictions", "preFilter filter"),
    _plugin("node_volume_limits", "NodeVolumeLimits", "preFilter filter"),
    _plugin("volume_binding", "VolumeBinding", "preFilter filter preScore score reserve preBind"),
    _plugin("volume_zone", "VolumeZone", "preFilter filter"),
    _plugin("pod_topology_spread", "PodTopologySpread", "preFilter filter preScore score", 2),
    _plugin("inter_pod_affinity", "InterPodAffinity", "preFilter filter preScore score", 2),
    _plugin("dynamic_resources", "DynamicResources", "preEnqueue preFilter filter postFilter score reserve preBind", 2),
    _plugin("default_preemption", "DefaultPreemption", "preEnqueue postFilter"),
    _plugin("node_resources_balanced_allocation", "NodeResourcesBalancedAllocation", "preScore score", 1),
    _plugin("image_locality", "ImageLocality", "score", 1),
    _plugin("default_binder", "DefaultBinder", "bind"),
    _plugin("node_declared_features", "NodeDeclaredFeatures", "preFilter filter"),
)
BUILT_IN: Final = {plugin.name: plugin for plugin in DEFAULT_PLUGINS}


def plugins_at(point: str) -> tuple[str, ...]:
    """The default plugins of an extension point."""
    return tuple(plugin.name for plugin in DEFAULT_PLUGINS if point in plugin.points)
