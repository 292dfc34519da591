"""The stand-in peer: our own Go host on wazero, one guest call per node and hook.

It shares only this with kube-scheduler-wasm-extension. It is not that project's code, and its figures are not that
project's.
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
    """Each score of the guest reads one name."""
    return Pair(FORM, program, lambda: go_programs.guest("nodenumber"))


def labels_pair() -> Pair:
    """Each score of the guest gets the whole node and reads a label in it."""
    return Pair(FORM, program, lambda: go_programs.guest("labels"), policy="labels")
