"""kube-scheduler's decisions, from its log: feasible nodes, and each plugin's score."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.e2e.parity.probing import Key
from tests.e2e.parity.settings import Profile
from tools.testbed.servers import ApiServer

_LINE: Final = re.compile(r'^[IWE]\d{4} \S+ +\d+ [^\]]+\] "(?P<text>(?:[^"\\]|\\.)*)"(?P<fields>.*)$')
_FIELD: Final = re.compile(r' (?P<key>\w+)=(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<bare>\S+))')


@dataclass(slots=True)
class Scored:
    """A scheduler's decision about a pod. Weighted scores; none unless two nodes were feasible."""

    chosen: str = ""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)  # by node and plugin
    totals: dict[str, int] = field(default_factory=dict)

    @property
    def feasible(self) -> set[str]:
        return set(self.totals) or ({self.chosen} if self.chosen else set())


# Verbosity 10 for the scores alone: the bodies of all requests are logged at 10, too.
FLAGS: Final = ("--vmodule=schedule_one=10,default_binder=3,pod_binding=3",)


def config(api: ApiServer, user: str, profile: Profile) -> dict[str, Any]:
    """Configuration that evaluates every node, in order: the order of nodes breaks ties."""
    connection = {"kubeconfig": str(api.kubeconfig(user)), "qps": 100_000, "burst": 100_000}
    return {"clientConnection": connection, "parallelism": 1, "percentageOfNodesToScore": 100, "profiles": [profile]}


def read_log(path: Path) -> dict[Key, Scored]:
    """The first attempt of each pod."""
    found: dict[Key, Scored] = {}
    over: set[Key] = set()
    for text, fields in _lines(path):
        namespace, _, name = fields.get("pod", "").partition("/")
        key = namespace, name
        if text == "Attempting to schedule pod":
            if key in found:
                over.add(key)
            found.setdefault(key, Scored())
        elif key in found and key not in over:
            _take(found[key], text, fields)
    return found


def _take(scored: Scored, text: str, fields: Mapping[str, str]) -> None:
    if text == "Plugin scored node for pod":
        scored.scores.setdefault(fields["node"], {})[fields["plugin"]] = int(fields["score"])
    elif text == "Calculated node's final score for pod":
        scored.totals[fields["node"]] = int(fields["score"])
    elif text == "Attempting to bind pod to node":
        scored.chosen = fields["node"].lstrip("/")


def _lines(path: Path) -> Iterable[tuple[str, dict[str, str]]]:
    with path.open(errors="replace") as lines:
        for line in lines:
            match = _LINE.match(line)
            if match:
                pairs = _FIELD.finditer(match["fields"])
                yield match["text"], {pair["key"]: pair["text"] or pair["bare"] or "" for pair in pairs}
