"""Labels, reasons and name digits common to the Python forms of the policies."""

from __future__ import annotations

from typing import Final

from kubewasp.framework.plugin import rejection

ZONE: Final = "topology.kubernetes.io/zone"
FAVOURED_ZONE: Final = "eu-west-1a"
CLOSED_LABEL: Final = "kubewasp.dev/closed"
CLOSED: Final = rejection("node is closed to new pods", resolvable=False)
FULL: Final = rejection("node has less than 20 % of its CPU left", resolvable=True)


def last_digit(name: str) -> int:
    """The last character of a name as a digit; -1 if it is none."""
    return int(name[-1]) if "0" <= name[-1:] <= "9" else -1
