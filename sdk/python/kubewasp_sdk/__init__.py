"""SDK for Kubernetes scheduler plugins in Python: a plugin is a subclass of `Plugin` that overrides hooks."""

from kubewasp_sdk.config import ConfigError
from kubewasp_sdk.events import Action, Change, ClusterEvent
from kubewasp_sdk.node_info import NodeInfo, Nodes
from kubewasp_sdk.normalization import Normalization
from kubewasp_sdk.objects import Container, Node, Owner, Pod, Taint, Toleration
from kubewasp_sdk.plugin import Plugin
from kubewasp_sdk.recorded_events import Event, ObjectReference
from kubewasp_sdk.resources import Resources
from kubewasp_sdk.state import CycleState
from kubewasp_sdk.status import SKIP, SUCCESS, Code, Nominate, Status, Verdict, Wait

__version__ = "0.2.0"
__all__ = [
    "SKIP",
    "SUCCESS",
    "Action",
    "Change",
    "ClusterEvent",
    "Code",
    "ConfigError",
    "Container",
    "CycleState",
    "Event",
    "Node",
    "NodeInfo",
    "Nodes",
    "Nominate",
    "Normalization",
    "ObjectReference",
    "Owner",
    "Plugin",
    "Pod",
    "Resources",
    "Status",
    "Taint",
    "Toleration",
    "Verdict",
    "Wait",
]
