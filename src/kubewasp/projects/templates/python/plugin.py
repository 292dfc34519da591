"""plugin-name: a scheduler plugin that prefers nodes by the value of a label, and closes some of them."""

from dataclasses import dataclass

from kubewasp_sdk import CycleState, NodeInfo, Plugin, Pod, Status, Verdict


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    label: str = "disktype"  # the label of nodes that is looked at
    prefer: tuple[str, ...] = ("nvme", "ssd")  # its values, the best first
    closed: tuple[str, ...] = ()  # nodes with these values take no pods but those of kube-system

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label must not be empty")


class PreferLabel(Plugin):
    """Takes part in Filter and Score, as it has these two methods."""

    config: Config

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Whether the node can take the pod: None, or why not."""
        value = node.labels.get(self.config.label)
        if value in self.config.closed and pod.namespace != "kube-system":
            return Status.unresolvable(f"nodes with {self.config.label}={value} are closed")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """From 0 to 100: the earlier the node's value stands in the list, the more."""
        prefer = self.config.prefer
        value = node.labels.get(self.config.label)
        if value not in prefer:
            return 0
        return 100 * (len(prefer) - prefer.index(value)) // len(prefer)
