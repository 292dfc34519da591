"""Profiles of the scheduler under soak, and the pods for each of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
# Replaced after its third pod: also a short soak, with many instances at a time, has some.
_LEAK_LIMITS: Final = {"memory": "1Mi"}


def profiles() -> list[Object]:
    """Profiles with guests in wasm text, Go and Python, one of which leaks and one misbehaves. Builds the guests."""
    examples = ROOT / "examples"
    return [
        _with_guest(
            profile(NODENUMBER, {"NodeNumber": examples / "guests" / "nodenumber.wat"}), "Leaking", limits=_LEAK_LIMITS
        ),
        profile(PYTHON, {"NodeNumberPython": project_guest(examples / "plugins" / "nodenumber-python")}),
        profile(GANG, {"Gang": project_guest(examples / "plugins" / "gang")}),
        _with_guest(profile(MISBEHAVING), "Misbehaving", failurePolicy="Ignore", limits=_LIMITS),
    ]


def _with_guest(made: Object, name: str, **args: Any) -> Object:
    """A profile with a guest more, that of this name in the folder `guests`."""
    guest = Path(__file__).parent / "guests" / f"{name.lower()}.wat"
    made["plugins"]["multiPoint"]["enabled"].append({"name": name})
    made["pluginConfig"].append({"name": name, "args": {"guestURL": f"file://{guest}", **args}})
    return made


def pod_groups() -> Iterator[tuple[str, list[Object]]]:
    """Kinds and manifests of pods without end, each with a name of its own. The pods of a gang are one group."""
    letters = itertools.cycle(f"{hook}{behaviour}" for hook in HOOKS for behaviour in BEHAVIOURS)
    for number, kind in enumerate(itertools.cycle(_TURN)):
        if kind == MISBEHAVING:
            yield kind, [pod(f"misbehaving-{number}-{next(letters)}", scheduler=kind)]
        elif kind == UNSCHEDULABLE:
            yield kind, [pod(f"unschedulable-{number}", cpu="1000", scheduler=NODENUMBER)]
        elif kind == GANG:
            yield kind, gang(str(number))
        else:
            yield kind, [pod(f"{kind.removeprefix('soak-')}-{number}", scheduler=kind)]


def gang(name: str) -> list[Object]:
    """The pods of one gang."""
    labels = {"kubewasp.dev/gang": f"gang-{name}", "kubewasp.dev/gang-size": str(GANG_SIZE)}
    return [pod(f"gang-{name}-{number}", labels=labels, scheduler=GANG) for number in range(GANG_SIZE)]
