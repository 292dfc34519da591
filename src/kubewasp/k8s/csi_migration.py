"""CSI migration: drivers, handles and topology of the in-tree volume types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.nodes import BETA_REGION, BETA_ZONE, REGION, ZONE
from kubewasp.k8s.selectors import NodeSelectorTerm, Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MULTIZONE_SEPARATOR: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"


@dataclass(frozen=True, slots=True)
class InTreePlugin:
    """An in-tree volume type. `source` is its field in a volume, `zone_key` the zone label of its driver.

    `is_migrated` is false for types whose migration does not affect scheduling.
    """

    name: str
    driver: str
    source: str
    handle_field: str
    zone_key: str = ""
    is_migrated: bool = True

    def handle(self, details: Mapping[str, Any], labels: Mapping[str, str]) -> str:
        """The volume handle of the driver; `labels` are those of the PersistentVolume, if any."""
        written = str(details.get(self.handle_field) or "")
        if self.source == "awsElasticBlockStore":
            return written.rpartition("/")[2] if written.startswith("aws://") else written
        if self.source == "gcePersistentDisk":
            zones = (labels.get(ZONE) or labels.get(BETA_ZONE) or "").split(MULTIZONE_SEPARATOR)
            if len(zones) > 1:
                return f"projects/{_UNSPECIFIED}/regions/{zones[0].rpartition('-')[0]}/disks/{written}"
            return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{written}"
        return written

    def affinity(
        self, terms: tuple[NodeSelectorTerm, ...] | None, labels: Mapping[str, str]
    ) -> tuple[NodeSelectorTerm, ...] | None:
        """The node affinity of a PersistentVolume with the driver's zone label."""
        if not self.zone_key:
            return terms
        zone, region = _zone_and_region(terms, labels)
        if terms and zone in _keys(terms):
            terms = _renamed(terms, zone, self.zone_key)
        elif zones := tuple(sorted({part.strip() for part in labels.get(zone, "").split(MULTIZONE_SEPARATOR)} - {""})):
            added = (Requirement(self.zone_key, "In", zones),)
            terms = tuple(
                replace(term, expressions=term.expressions + added) for term in terms or (NodeSelectorTerm(),)
            )
        return _renamed(terms, BETA_REGION, REGION) if terms and region == BETA_REGION else terms


IN_TREE_PLUGINS: Final = (
    InTreePlugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "awsElasticBlockStore", "volumeID", "topology.ebs.csi.aws.com/zone"
    ),
    InTreePlugin(
        "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "gcePersistentDisk", "pdName", "topology.gke.io/zone"
    ),
    InTreePlugin(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "cinder",
        "volumeID",
        "topology.cinder.csi.openstack.org/zone",
    ),
    InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com", "azureDisk", "diskURI"),
    InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com", "portworxVolume", "volumeID"),
    InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com", "azureFile", "shareName", is_migrated=False),
    InTreePlugin(
        "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "vsphereVolume", "volumePath", is_migrated=False
    ),
)
BY_NAME: Final = {plugin.name: plugin for plugin in IN_TREE_PLUGINS}
BY_SOURCE: Final = {plugin.source: plugin for plugin in IN_TREE_PLUGINS}


def _zone_and_region(terms: tuple[NodeSelectorTerm, ...] | None, labels: Mapping[str, str]) -> tuple[str, str]:
    """The zone and region labels of a volume, stable or beta: by its affinity, else by its labels."""
    for present in (_keys(terms or ()), labels):
        if ZONE in present:
            return ZONE, REGION
        if BETA_ZONE in present:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _keys(terms: Iterable[NodeSelectorTerm]) -> set[str]:
    return {requirement.key for term in terms for requirement in term.expressions}


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    def renamed(requirement: Requirement) -> Requirement:
        return replace(requirement, key=new) if requirement.key == old else requirement

    return tuple(replace(term, expressions=tuple(map(renamed, term.expressions))) for term in terms)
