"""Profiles of the scheduler under soak, and the pods for each of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.guests.build import ROOT, project_guest
from tools.testbed.cluster import pod
from tools.testbed.kubewasp import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.testbed.client import Object

NODENUMBER, PYTHON, GANG, MISBEHAVING = "soak-nodenumber", "soak-python", "soak-gang", "soak-misbehaving"
UNSCHEDULABLE: Final = "unschedulable"
GANG_SIZE: Final = 3
# Kinds of 20 pods in sequence; a gang is one entry.
_TURN: Final = (
    *(NODENUMBER, MISBEHAVING, NODENUMBER, PYTHON, NODENUMBER, UNSCHEDULABLE, NODENUMBER, MISBEHAVING, GANG),
    *(NODENUMBER, MISBEHAVING, NODENUMBER, PYTHON, NODENUMBER, UNSCHEDULABLE, NODENUMBER, MISBEHAVING, PYTHON),
)
# Letters of misbehaving.wat. All behaviours of one hook, then those of the next.
HOOKS: Final = "abcdef"
BEHAVIOURS: Final = "abcdefghijklmnop"
# Kinds of failures in the metrics that these behaviours lead to.
FAILURES: Final = ("trap", "timeout", "overrun", "exit", "payload")
# Low, so that the misbehaving pods cost little of the others' time.
_LIMITS: Final = {"callTimeout": "20ms", "memory": "16Mi"}


def profiles() -> list[Object]:
    """Profiles with guests in wasm text, Go and Python, and one that misbehaves. Builds the guests."""
    examples = ROOT / "examples"
    misbehaving = Path(__file__).parent / "guests" / "misbehaving.wat"
    return [
        profile(NODENUMBER, {"NodeNumber": examples / "guests" / "nodenumber.wat"}),
        profile(PYTHON, {"NodeNumberPython": project_guest(examples / "plugins" / "nodenumber-python")}),
        profile(GANG, {"Gang": project_guest(examples / "plugins" / "gang")}),
        _misbehaving(misbehaving),
    ]


def _misbehaving(guest: Path) -> Object:
    args = {"guestURL": f"file://{guest}", "failurePolicy": "Ignore", "limits": dict(_LIMITS)}
    enabled = {"multiPoint": {"enabled": [{"name": "Misbehaving"}]}}
    return profile(MISBEHAVING, plugins=enabled, pluginConfig=[{"name": "Misbehaving", "args": args}])


def pod_groups() -> Iterator[tuple[str, list[Object]]]:
    """Kinds and manifests of pods without end, each with a name of its own. The pods of a gang are one group."""
    letters = itertools.cycle(f"{hook}{behaviour}" for hook in HOOKS for behaviour in BEHAVIOURS)
    for number, kind in enumerate(itertools.cycle(_TURN)):
        if kind == MISBEHAVING:
            yield kind, [pod(f"misbehaving-{number}-{next(letters)}", scheduler=kind)]
        elif kind == UNSCHEDULABLE:
            yield kind, [pod(f"unschedulable-{number}", cpu="1000", scheduler=NODENUMBER)]
        elif kind == GANG:
            labels = {"kubewasp.dev/gang": f"gang-{number}", "kubewasp.dev/gang-size": str(GANG_SIZE)}
            yield kind, [pod(f"gang-{number}-{one}", labels=labels, scheduler=kind) for one in range(GANG_SIZE)]
        else:
            yield kind, [pod(f"{kind.removeprefix('soak-')}-{number}", scheduler=kind)]
