"""plugin-name: a scheduler plugin that prefers nodes by the value of a label, and rejects some of them."""

from dataclasses import dataclass

from kubewasp_sdk import CycleState, NodeInfo, Normalization, Plugin, Pod, Status, Verdict


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    label: str = "disktype"  # node label
    prefer: tuple[str, ...] = ("nvme", "ssd")  # preferred values of the label, best first
    closed: tuple[str, ...] = ()  # values of nodes that accept pods of kube-system only

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label must not be empty")


class PreferLabel(Plugin):
    """Implements Filter and Score; the scheduler calls the hooks that a plugin overrides."""

    config: Config
    # The results depend on the pod, the configuration and one node with its pods: the scheduler asks again only about
    # nodes that have changed. Remove this line if the plugin looks at other nodes, the time, or attributes that hooks
    # change.
    pure = True
    # The best of the nodes gets 100, the others a share of it.
    normalization = Normalization("proportional")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        """Rejects closed nodes, except for pods of kube-system."""
        value = node.labels.get(self.config.label)
        if value in self.config.closed and pod.namespace != "kube-system":
            return Status.unresolvable(f"nodes with {self.config.label}={value} are closed")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Rates the node by the position of its label value in the list."""
        prefer = self.config.prefer
        value = node.labels.get(self.config.label)
        return len(prefer) - prefer.index(value) if value in prefer else 0
