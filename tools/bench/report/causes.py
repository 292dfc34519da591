"""Hand-written causes of losses, shown only while the figures have the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tools.bench.report.losses import Loss

_GUESTS: Final = ("wat", "go", "tinygo", "rust", "c", "python", "javascript")


@dataclass(frozen=True, slots=True)
class Cause:
    """An explanation and the losses it applies to; an empty field matches all."""

    text: str
    layer: str
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    about: tuple[str, ...] = ()

    def explains(self, loss: Loss) -> bool:
        wanted = (
            ((self.layer,), loss.layer),
            (self.ours, loss.ours),
            (self.theirs, loss.theirs),
            (self.metrics, loss.metric),
            (self.about, loss.about),
        )
        return all(not allowed or found in allowed for allowed, found in wanted)


# The first match counts, so specific causes come first. No figures here: they would not change with those of the page.
CAUSES: Final = (
    Cause(
        "A guest is compiled before its first run; later starts load it from the cache. Python and built-in plugins "
        "need no compilation.",
        "plugin",
        theirs=("builtin", "in-process"),
        metrics=("load_cold",),
    ),
    Cause(
        "A guest adds its compiled code and its own memory, and a second copy of the nodes is in the memory shared "
        "by all guests. A Python plugin reads the objects of the scheduler.",
        "plugin",
        ours=_GUESTS,
        theirs=("builtin", "in-process", "callbacks"),
        metrics=("host_memory",),
    ),
    Cause(
        "A Python guest is CPython in WebAssembly. It gets new and changed nodes as JSON and parses them with its own "
        "interpreter; other guests read the bytes in place.",
        "plugin",
        ours=("python",),
        metrics=("first_cycle", "changed_cycle"),
    ),
    Cause(
        "A Python guest is CPython in WebAssembly: an interpreter inside the sandbox.",
        "plugin",
        ours=("python",),
        theirs=("go",),
    ),
    Cause(
        "A JavaScript guest is SpiderMonkey in WebAssembly, an interpreter. It gets new and changed nodes as JSON and "
        "parses them; other guests read the bytes in place.",
        "plugin",
        ours=("javascript",),
        metrics=("first_cycle", "changed_cycle"),
    ),
    Cause(
        "A JavaScript guest is SpiderMonkey in WebAssembly: an interpreter inside the sandbox.",
        "plugin",
        ours=("javascript",),
        theirs=("go",),
    ),
    Cause(
        "The hand-written guest contains only the policy. A Go guest includes Go's runtime and garbage collector, and "
        "the SDK passes a node as an object.",
        "plugin",
        ours=("go",),
        theirs=("wat",),
    ),
    Cause(
        "A built-in policy is a few numpy operations over columns that the scheduler keeps up to date, without a loop "
        "over nodes. A guest is called for every node, and each hook has a fixed cost.",
        "plugin",
        ours=_GUESTS,
        theirs=("builtin",),
        metrics=("unchanged_cycle",),
    ),
    Cause(
        "A new or changed node is encoded, written into the memory shared by guests, and decoded by each guest that "
        "reads it; Python reads the object directly. An unchanged node costs this once.",
        "plugin",
        ours=_GUESTS,
        theirs=("builtin", "in-process", "callbacks"),
        metrics=("first_cycle", "changed_cycle"),
    ),
    Cause(
        "Each hook of a guest has a fixed cost: taking an instance, writing the pod, calls into wasm, reading the "
        "answers. A Python plugin is a plain call and faster in small clusters.",
        "plugin",
        ours=_GUESTS,
        theirs=("in-process", "callbacks"),
        metrics=("unchanged_cycle",),
    ),
    Cause(
        "kubewasp is a Python process: the interpreter, numpy and the wasm runtime take memory before the first node, "
        "and Python objects are larger than Go's.",
        "scheduler",
        metrics=("memory",),
    ),
    Cause(
        "One thread of kubewasp runs the cycles and applies the watch events, and requests are encoded in Python; "
        "kube-scheduler is compiled and uses several threads for one pod.",
        "scheduler",
    ),
)


def cause(loss: Loss) -> str:
    """Empty for a loss without an explanation."""
    return next((found.text for found in CAUSES if found.explains(loss)), "")
