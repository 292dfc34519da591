"""nodenumber-python: prefers the node with the pod's number. web-3 prefers node-3."""

from dataclasses import dataclass

from kubewasp_sdk import CycleState, NodeInfo, Plugin, Pod, Verdict

SCORE = 10


@dataclass(frozen=True)
class Config:
    """The plugin's configuration: guestConfig, as JSON."""

    reverse: bool = False  # prefer nodes with another number instead
    reserved: int | None = None  # nodes with this number accept no pods

    def __post_init__(self) -> None:
        if self.reserved is not None and not 0 <= self.reserved <= 9:
            raise ValueError(f"reserved must be a digit, 0 to 9, not {self.reserved}")


class NodeNumber(Plugin):
    """Compares the last digits of names. A name that does not end in a digit never scores."""

    config: Config

    def signature(self, pod: Pod) -> str:
        """Pods with the same digit share results: a node is evaluated once for all of them."""
        return last_digit(pod.name)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Verdict:
        digit = last_digit(node.name)
        if digit and int(digit) == self.config.reserved:
            return f"node number {digit} is reserved"
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        wanted, digit = last_digit(pod.name), last_digit(node.name)
        if not wanted or not digit:
            return 0
        return SCORE if (wanted == digit) != self.config.reverse else 0


def last_digit(name: str) -> str:
    """Last character of the name if it is a digit, else empty."""
    return name[-1:] if "0" <= name[-1:] <= "9" else ""
