"""NodeInfo: a node with its pods and resource totals. HOT PATH."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kubewasp_sdk.objects import Node, Pod, lazy
from kubewasp_sdk.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Attributes computed from the Node object, and from its pods; dropped when their source changes.
_OF_OBJECT = ("raw", "uid", "labels", "annotations", "taints", "unschedulable", "conditions", "images", "created_at")
_OF_OBJECT_INSIDE = ("_metadata", "_parts")
_OF_PODS = ("allocatable", "requested", "non_zero_requested", "pod_count", "_numbers")


class NodeInfo(Node):
    """A node with its pods and resource totals. One object for the lifetime of the node, updated in place."""

    def __init__(self, name: str, *, sends_pods: bool = True) -> None:
        super().__init__("{}")
        self.__dict__["name"] = name
        self._numbers_text = "[0,0,0,0,{},{}]"
        self._pods: dict[str, Pod] = {}
        self._sends_pods = sends_pods

    # ------------------------------------------------------------------ for plugins

    @lazy
    def allocatable(self) -> Resources:
        """Allocatable resources: `node.allocatable.cpu`, `node.allocatable["nvidia.com/gpu"]`."""
        return Resources(self._numbers[4], pods=self._numbers[3])

    @lazy
    def requested(self) -> Resources:
        """Sum of the requests of all pods on the node."""
        return Resources(self._numbers[5], pods=self._numbers[2])

    @lazy
    def non_zero_requested(self) -> Resources:
        """Requested CPU and memory, with a small default for containers without requests."""
        return Resources(cpu=self._numbers[0], memory=self._numbers[1])

    @lazy
    def pod_count(self) -> int:
        return int(self._numbers[2])

    def free(self, resource: str) -> int:
        """Allocatable minus requested amount of a resource."""
        return self.allocatable[resource] - self.requested[resource]

    def fits(self, requests: Mapping[str, int]) -> bool:
        """Whether all these amounts are free."""
        return all(not wanted or wanted <= self.free(name) for name, wanted in requests.items())

    @property
    def pods(self) -> tuple[Pod, ...]:
        """Pods on the node. Requires `wants = ("pods",)`."""
        if not self._sends_pods:
            raise NotWantedError("pods", "the pods on a node")
        return tuple(self._pods.values())

    # ------------------------------------------------------------------ updates from the scheduler

    def replace_object(self, text: str, labels: str, images: str) -> None:
        self._text, self._labels_text, self._images_text = text, labels, images
        self._forget((*_OF_OBJECT, *_OF_OBJECT_INSIDE))

    def replace_numbers(self, text: str) -> None:
        self._numbers_text = text
        self._forget(_OF_PODS)

    def set_sends_pods(self, sends_pods: bool) -> None:
        self._sends_pods = sends_pods

    @property
    def object_text(self) -> str:
        """JSON of the Node object, without labels and images."""
        return self._text

    def all_pods(self) -> Sequence[Pod]:
        """Pods on the node, regardless of `wants`."""
        return tuple(self._pods.values())

    def put_pod(self, uid: str, pod: Pod) -> None:
        self._pods[uid] = pod

    def drop_pod(self, uid: str) -> None:
        self._pods.pop(uid, None)

    @lazy
    def _numbers(self) -> Any:
        return json.loads(self._numbers_text)

    def _forget(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.__dict__.pop(name, None)


class NotWantedError(Exception):
    """Use of data that the plugin has not requested in `wants`."""

    def __init__(self, want: str, what: str) -> None:
        super().__init__(f'{what} are sent only to plugins that ask for them: put wants = ("{want}",) into the class')


class Nodes:
    """All nodes of the cluster; iterable, with lookup by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, NodeInfo] = {}

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> NodeInfo:
        return self._by_name[name]

    def get(self, name: str) -> NodeInfo | None:
        return self._by_name.get(name)

    def put(self, node: NodeInfo) -> None:
        self._by_name[node.name] = node

    def remove(self, name: str) -> None:
        self._by_name.pop(name, None)
