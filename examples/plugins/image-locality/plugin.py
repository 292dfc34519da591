"""image-locality: prefers nodes with the pod's images.

Like the built-in ImageLocality, with a configurable scale and weights for registries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubewasp_sdk import SKIP, CycleState, NodeInfo, Plugin, Pod, Verdict

MIB = 1024 * 1024


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    minimum_mib: int = 23  # total size of images with score 0
    maximum_mib: int = 1000  # size per container with score 100
    weights: Mapping[str, float] = field(default_factory=dict)  # by prefix of the image name; the longest prefix counts

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_mib < self.maximum_mib:
            raise ValueError(f"expected 0 <= minimumMib < maximumMib, got {self.minimum_mib} and {self.maximum_mib}")
        for prefix, weight in self.weights.items():
            if not 0 <= weight <= 1000:
                raise ValueError(f'weights: expected 0 to 1000 for "{prefix}", got {weight:g}')


class ImageLocality(Plugin):
    """Scores the bytes of present images, weighted by registry and by the share of nodes with the image.

    There is no `signature`: a score depends on the images of all other nodes too.
    """

    config: Config

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Verdict:
        """Finds the factors of the pod's images, which are the same for all nodes."""
        factors = []
        for image in map(with_tag, pod.images):
            # A rare image counts little: else its few nodes would get all pods with this image.
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
        """Weight of the longest configured prefix of the image's name; 1 without one."""
        found = [prefix for prefix in self.config.weights if image.startswith(prefix)]
        return self.config.weights[max(found, key=len)] if found else 1.0


def with_tag(image: str) -> str:
    """Image name with its tag, as nodes list it: nginx is nginx:latest."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
