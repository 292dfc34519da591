"""What the policies look for and say, in all Python forms."""

from __future__ import annotations

from typing import Final

from kubewasp.framework.plugin import rejection

ZONE: Final = "topology.kubernetes.io/zone"
FAVOURED_ZONE: Final = "eu-west-1a"
CLOSED_LABEL: Final = "kubewasp.dev/closed"
CLOSED: Final = rejection("node is closed to new pods", resolvable=False)
FULL: Final = rejection("node has less than 20 % of its CPU left", resolvable=True)


def last_digit(name: str) -> int:
    """The digit that a name ends in; -1 if it ends in something else."""
    return int(name[-1]) if "0" <= name[-1:] <= "9" else -1
