"""image-locality: prefers nodes that have the pod's images already.

As the built-in ImageLocality, but the scale comes from the configuration, and registries can count for more or less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubewasp_sdk import SKIP, CycleState, NodeInfo, Plugin, Pod, Verdict

MIB = 1024 * 1024


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    minimum_mib: int = 23  # images that are smaller together score 0: they are pulled in no time
    maximum_mib: int = 1000  # so much for each container of the pod scores 100
    weights: Mapping[str, float] = field(default_factory=dict)  # by the beginning of image names; the longest counts

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_mib < self.maximum_mib:
            raise ValueError(f"expected 0 <= minimumMib < maximumMib, got {self.minimum_mib} and {self.maximum_mib}")
        for prefix, weight in self.weights.items():
            if not 0 <= weight <= 1000:
                raise ValueError(f'weights: expected 0 to 1000 for "{prefix}", got {weight:g}')


class ImageLocality(Plugin):
    """The bytes that need not be pulled, each image weighted by its registry and by how many nodes have it.

    There is no `signature`: a score depends on the images of all other nodes too.
    """

    config: Config

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Verdict:
        """What an image is worth is the same on all nodes: it is found once for each pod."""
        factors = []
        for image in map(with_tag, pod.images):
            # An image that few nodes have counts for little, so that these do not get all the pods that use it.
            having = sum(image in node.images for node in self.nodes)
            if having:
                factors.append((image, self.weight(image) * having / len(self.nodes)))
        state["factors"] = factors
        return None if factors else SKIP

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        size = sum(int(node.images.get(image, 0) * factor) for image, factor in state["factors"])
        lowest = self.config.minimum_mib * MIB
        highest = self.config.maximum_mib * MIB * len(pod.images)
        return 100 * (min(max(size, lowest), highest) - lowest) // (highest - lowest)

    def weight(self, image: str) -> float:
        """That of the longest beginning of the image's name that the configuration has; else 1."""
        found = [prefix for prefix in self.config.weights if image.startswith(prefix)]
        return self.config.weights[max(found, key=len)] if found else 1.0


def with_tag(image: str) -> str:
    """Nodes have images by their full name: nginx is nginx:latest there."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
