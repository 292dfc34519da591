"""Uniform calls of every hook, on node-1."""

from collections.abc import Callable

from kubewasp.framework.status import Status
from kubewasp.wasm.guest_cycle import GuestCycle
from tests import samples

_OTHER = samples.pod("other")
_SCORES = {"node-1": 1, "node-2": 2, "node-3": 3}

STATUS_OF: dict[str, Callable[[GuestCycle], Status]] = {
    "enqueue": lambda cycle: cycle.enqueue()[1].status,
    "prefilter": lambda cycle: cycle.prefilter().status,
    "addpod": lambda cycle: cycle.add_pod(_OTHER, "node-1").status,
    "removepod": lambda cycle: cycle.remove_pod(_OTHER, "node-1").status,
    "filter": lambda cycle: cycle.filter(["node-1"]).status(0),
    "postfilter": lambda cycle: cycle.postfilter({"node-1": 2}).status,
    "prescore": lambda cycle: cycle.prescore(["node-1"]).status,
    "score": lambda cycle: cycle.score(["node-1"]).status(0),
    "normalizescore": lambda cycle: cycle.normalize_score(_SCORES).status,
    "reserve": lambda cycle: cycle.reserve("node-1").status,
    "unreserve": lambda cycle: cycle.unreserve("node-1").status,
    "permit": lambda cycle: cycle.permit("node-1").status,
    "prebind": lambda cycle: cycle.prebind("node-1").status,
    "bind": lambda cycle: cycle.bind("node-1").status,
    "postbind": lambda cycle: cycle.postbind("node-1").status,
}
WITHOUT_STATUS = ("enqueue", "unreserve", "postbind")
WITH_STATUS = tuple(hook for hook in STATUS_OF if hook not in WITHOUT_STATUS)
