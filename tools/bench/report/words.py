"""Why kubewasp loses where it does: written by hand, shown only while the figures still show the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tools.bench.report.losses import Loss

_GUESTS: Final = ("wat", "go", "python")


@dataclass(frozen=True, slots=True)
class Cause:
    """An explanation, and the losses that it explains; what is left empty stands for all."""

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


# The first that fits explains a loss, so the particular ones come first. No figures here: they
# would not change with those of the page.
CAUSES: Final = (
    Cause(
        "A guest has to be compiled before it runs. That is kept: the next start loads it from the cache. Python and a "
        "built-in plugin have nothing to compile.",
        "plugin",
        theirs=("builtin", "in-process"),
        metrics=("load_cold",),
    ),
    Cause(
        "A guest brings its compiled code and a memory of its own, and the nodes lie once more in the memory that all "
        "guests share. A plugin in Python reads the objects that the scheduler has anyway.",
        "plugin",
        ours=_GUESTS,
        theirs=("builtin", "in-process", "callbacks"),
        metrics=("host_memory",),
    ),
    Cause(
        "A Python guest is CPython in WebAssembly. It is told of new and changed nodes as JSON, which it parses with "
        "its own interpreter; other guests read the bytes where they lie.",
        "plugin",
        ours=("python",),
        metrics=("first_cycle", "changed_cycle"),
    ),
    Cause(
        "A Python guest is CPython in WebAssembly: an interpreter that is itself run in the sandbox.",
        "plugin",
        ours=("python",),
        theirs=("go",),
    ),
    Cause(
        "The hand-written guest does just what the policy needs. A Go guest comes with Go's runtime and garbage "
        "collector, and the SDK hands it a node as an object.",
        "plugin",
        ours=("go",),
        theirs=("wat",),
    ),
    Cause(
        "Built in, a policy is a few numpy operations over columns that the scheduler keeps up to date, and no node is "
        "looked at by itself. A guest is called for every node, and each hook has its price before the first.",
        "plugin",
        ours=_GUESTS,
        theirs=("builtin",),
        metrics=("unchanged_cycle",),
    ),
    Cause(
        "A node that is new or has changed is encoded, written into the memory that guests share, and decoded by the "
        "guest that reads it. Python sees the object as soon as it is there. A node that stays as it is costs "
        "this once.",
        "plugin",
        ours=_GUESTS,
        theirs=("builtin", "in-process", "callbacks"),
        metrics=("first_cycle", "changed_cycle"),
    ),
    Cause(
        "Each hook of a guest has its price, however few nodes there are: taking an instance, writing the pod, calls "
        "into wasm, reading the answers. A Python plugin is a plain call, so it wins in small clusters.",
        "plugin",
        ours=_GUESTS,
        theirs=("in-process", "callbacks"),
        metrics=("unchanged_cycle",),
    ),
    Cause(
        "kubewasp is a Python process: the interpreter, numpy and the wasm runtime are loaded before the first node, "
        "and objects take more room in Python than in Go.",
        "scheduler",
        metrics=("memory",),
    ),
    Cause(
        "kubewasp decides in one thread, which also takes in what the watches bring, and encodes its requests in "
        "Python; kube-scheduler is compiled and uses several threads for one pod.",
        "scheduler",
    ),
)


def cause(loss: Loss) -> str:
    """Empty where nobody has explained it yet."""
    return next((found.text for found in CAUSES if found.explains(loss)), "")
