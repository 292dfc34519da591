"""The stand-in: a host of our own in Go, on wazero, that answers a guest call by call.

It stands in for the Go project's own host only in this: Go, wazero, and one call of the guest for each node and hook.
It is not that project's code, and its figures are not that project's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.peers import go_programs
from tools.bench.peers.pairs import Pair

if TYPE_CHECKING:
    from pathlib import Path

FORM: Final = "wazero"


def program() -> Path:
    return go_programs.program("wazero")


def pair() -> Pair:
    """Each score of the guest asks for one name."""
    return Pair(FORM, program, lambda: go_programs.guest("nodenumber"))


def labels_pair() -> Pair:
    """Each score of the guest asks for the whole node and reads a label in it."""
    return Pair(FORM, program, lambda: go_programs.guest("labels"), policy="labels")
