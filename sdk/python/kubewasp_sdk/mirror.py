"""Mirror of the cluster in the guest, updated from request lines. HOT PATH.

sdk/wit/README.md specifies the lines. Only the row and name of a line are parsed here, its JSON on first use.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kubewasp_sdk.node_info import NodeInfo
from kubewasp_sdk.objects import Pod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp_sdk.scheduler import Scheduler

_split_value = json.JSONDecoder().raw_decode


class Mirror:
    """Nodes by row, named lists of rows, and waiting pods."""

    def __init__(self, scheduler: Scheduler, *, wants_pods: bool, wants_waiting_pods: bool) -> None:
        self._scheduler = scheduler
        self._wants_pods = wants_pods
        self._rows: dict[int, NodeInfo] = {}
        self._lists: dict[int, Sequence[NodeInfo]] = {}
        self._row_lists: dict[int, Sequence[int]] = {}
        scheduler.waiting = {} if wants_waiting_pods else None

    def node(self, row: int) -> NodeInfo:
        return self._rows[row]

    def nodes(self, number: int, rows: Sequence[int] | None) -> Sequence[NodeInfo]:
        """The nodes of list `number`: of the given rows, or (None) of its previous rows."""
        if rows is not None:
            self._row_lists[number] = rows
            self._lists.pop(number, None)
        listed = self._lists.get(number)
        if listed is None:
            known = self._rows
            listed = self._lists[number] = [known[row] for row in self._row_lists[number]]
        return listed

    def names(self, rows: Sequence[int]) -> list[str]:
        return [self._rows[row].name for row in rows]

    def update(self, lines: Sequence[str]) -> dict[str, str]:
        """Applies the lines about nodes and waiting pods. Returns all other lines, by letter."""
        others: dict[str, str] = {}
        node: NodeInfo | None = None
        labels = images = ""
        for line in lines:
            letter, text = line[0], line[2:]
            if letter == "n":
                row, _, name = text.partition(" ")
                node = self._node(int(row), json.loads(name))
            elif letter == "x":
                self._remove(int(text))
            elif letter == "z":
                for known in list(self._rows):
                    self._remove(known)
            elif letter == "w":
                uid, end = _split_value(text)
                if self._scheduler.waiting is not None:
                    self._scheduler.waiting[uid] = Pod(text[end + 1 :])
            elif letter == "l":
                labels = text
            elif letter == "i":
                images = text
            elif letter not in "orad" or node is None:
                others[letter] = text
            elif letter == "o":
                node.replace_object(text, labels, images)
                labels = images = ""
            elif letter == "r":
                node.replace_numbers(text)
            elif letter == "a":
                uid, end = _split_value(text)
                node.put_pod(uid, Pod(text[end + 1 :]))
            else:
                node.drop_pod(json.loads(text))
        return others

    def keep_waiting(self, uids: Sequence[str]) -> None:
        """Removes waiting pods that are not in the list."""
        known = self._scheduler.waiting or {}
        self._scheduler.waiting = {uid: known[uid] for uid in uids}

    def _node(self, row: int, name: str) -> NodeInfo:
        node = self._rows.get(row)
        if node is None or node.name != name:
            self._remove(row)
            node = self._rows[row] = NodeInfo(name, sends_pods=self._wants_pods)
            self._scheduler.nodes.put(node)
        return node

    def _remove(self, row: int) -> None:
        node = self._rows.pop(row, None)
        if node is not None:
            # The name may already be in another row.
            if self._scheduler.nodes.get(node.name) is node:
                self._scheduler.nodes.remove(node.name)
            self._lists.clear()
