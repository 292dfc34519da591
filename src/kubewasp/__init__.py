"""kubewasp: a Kubernetes scheduler with WebAssembly plugins.

Public API, each module with its `__all__`:

- `kubewasp`: wasm guests (this module);
- `kubewasp.plugin_api`: in-process plugins of the scheduler;
- `kubewasp.simulation`: scheduling on a cluster in memory;
- `kubewasp.web`: wasm HTTP handlers as an ASGI application;
- `kubewasp.wasi`: WASI programs.

Everything else is private and may change in any release.

>>> import kubewasp                                                    # doctest: +SKIP
>>> guest = kubewasp.Guest.load("nodenumber.wasm")                     # doctest: +SKIP
>>> guest.evaluate(pod, nodes).best                                    # doctest: +SKIP
'node-7'
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

__version__ = "0.2.0"
__all__ = ["Evaluation", "Guest", "GuestLoadError", "KubewaspError", "Limits", "Nodes", "Status"]

if TYPE_CHECKING:
    from kubewasp.errors import KubewaspError
    from kubewasp.framework.status import Status
    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.errors import GuestLoadError
    from kubewasp.wasm.evaluation import Evaluation
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.limits import Limits

logging.getLogger(__name__).addHandler(logging.NullHandler())
_HOMES = {
    "Evaluation": "wasm.evaluation",
    "Guest": "wasm.guest",
    "GuestLoadError": "wasm.errors",
    "KubewaspError": "errors",
    "Limits": "wasm.limits",
    "Nodes": "state.node_objects",
    "Status": "framework.status",
}


def __getattr__(name: str) -> object:
    """Import on first use: `kubewasp --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
