"""Pending pods, grouped by reason, with changes that would help."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.console.json_values import Document, name_of, owner_of, page_of, text_of, when
from kubewasp.console.picture import ACTIVE, GATED, WAITING, QueueEntry
from kubewasp.console.views.help_texts import help_texts
from kubewasp.errors import KubewaspError
from kubewasp.lab.experiments.pending_reasons import NO_ATTEMPT, reason_of

if TYPE_CHECKING:
    from kubewasp.console.picture import Picture
    from kubewasp.console.study import Study

_HELP_SECONDS: Final = 0.5  # for all groups of an answer
_EXAMPLES: Final = 3


@dataclass(slots=True)
class PendingGroup:
    """Pods with one reason, the oldest first."""

    reason: str
    entries: list[QueueEntry] = field(default_factory=list)

    @property
    def id(self) -> str:
        return hashlib.sha256(self.reason.encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def plugins(self) -> list[str]:
        counts = Counter(plugin for entry in self.entries for plugin in entry.plugins)
        return [plugin for plugin, _ in counts.most_common()]


def pending(picture: Picture, study: Study | None, after: int, limit: int) -> Document:
    """Groups of pending pods, the largest first. Help is looked for as long as the answer stays quick."""
    groups = pending_groups(picture)
    shown, more = page_of(groups, after, limit)
    began, documents = time.monotonic(), []
    for group in shown:
        is_quick = time.monotonic() - began < _HELP_SECONDS
        documents.append(_group(group, _help(picture, study, group) if is_quick else []))
    total = sum(len(group.entries) for group in groups)
    return {"total": total, "groups": documents} | ({"next": more["next"]} if "next" in more else {})


def pending_group(picture: Picture, study: Study | None, group_id: str, after: int, limit: int) -> Document | None:
    """The pods of a group, the oldest first; None without such a group."""
    group = next((group for group in pending_groups(picture) if group.id == group_id), None)
    if group is None:
        return None
    shown, more = page_of(group.entries, after, limit)
    return {
        "id": group.id,
        "reason": text_of(group.reason),
        "plugins": group.plugins,
        "help": _help(picture, study, group),
        "pods": [_pod(entry) for entry in shown],
        **more,
    }


def pending_groups(picture: Picture) -> list[PendingGroup]:
    """The largest first."""
    groups: dict[str, PendingGroup] = {}
    reasons: dict[str, str] = {}  # by message: many pods have the same one
    for pod in picture.pending:
        entry = picture.queue.get(pod.key)
        if entry is None:
            reason = f"no profile has the schedulerName {pod.spec.scheduler_name}"
            entry = QueueEntry(pod, ACTIVE, pod.created / 1e6, message=reason)
        elif entry.part == WAITING:
            continue
        elif entry.part == GATED:
            reason = entry.message if entry.message.startswith("gated") else f"gated: {entry.message or 'not queued'}"
        else:
            known = reasons.get(entry.message)
            if known is None:
                known = reasons[entry.message] = reason_of(entry.message) if entry.message else NO_ATTEMPT
            reason = known
        group = groups.get(reason)
        if group is None:
            group = groups[reason] = PendingGroup(reason)
        group.entries.append(entry)
    for group in groups.values():
        group.entries.sort(key=lambda entry: entry.since)
    return sorted(groups.values(), key=lambda group: -len(group.entries))


def _help(picture: Picture, study: Study | None, group: PendingGroup) -> list[str]:
    """Changes that would help the oldest pod."""
    if study is None or group.entries[0].part == GATED:
        return []
    try:
        decision = study.decide(picture, group.entries[0].pod.key)
    except (KubewaspError, LookupError):
        return []
    return [text_of(text) for text in help_texts(decision)]


def _group(group: PendingGroup, texts: list[str]) -> Document:
    oldest = group.entries[0]
    return {
        "id": group.id,
        "reason": text_of(group.reason),
        "plugins": group.plugins,
        "pods": len(group.entries),
        "oldest": {"pod": name_of(oldest.pod.key), "since": when(oldest.since)},
        "help": texts,
        "examples": [name_of(entry.pod.key) for entry in group.entries[:_EXAMPLES]],
    }


def _pod(entry: QueueEntry) -> Document:
    return {
        "key": name_of(entry.pod.key),
        "since": when(entry.since),
        "attempts": entry.attempts,
        "priority": entry.pod.priority,
        "owner": owner_of(entry.pod),
        "message": text_of(entry.message),
    }
