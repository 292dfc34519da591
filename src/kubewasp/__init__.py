"""A Kubernetes scheduler whose policies are WebAssembly plugins.

>>> import kubewasp                                                    # doctest: +SKIP
>>> guest = kubewasp.Guest.load("nodenumber.wasm")                     # doctest: +SKIP
>>> guest.evaluate(pod, nodes).best                                    # doctest: +SKIP
'node-7'
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = ["Guest", "KubewaspError", "Limits", "Nodes"]

if TYPE_CHECKING:
    from kubewasp.errors import KubewaspError
    from kubewasp.state.node_objects import Nodes
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.limits import Limits

logging.getLogger(__name__).addHandler(logging.NullHandler())
_HOMES = {"Guest": "wasm.guest", "KubewaspError": "errors", "Limits": "wasm.limits", "Nodes": "state.node_objects"}


def __getattr__(name: str) -> Any:
    """Imports on first use: `kubewasp --help` needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
