"""Results of hooks, as plain values. Public API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubewasp.framework.status import Code, Status, code_label
from kubewasp.wasm.guest_log import NO_LOG, GuestLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.wasm.klog import LogLine


@dataclass(frozen=True, slots=True)
class Trace:
    """Side effects of a call: log, recorded events, output; and its duration."""

    log: GuestLog = NO_LOG
    events: tuple[RecordedEvent, ...] = ()
    output: str = ""
    seconds: float = 0.0

    @property
    def logs(self) -> tuple[LogLine, ...]:
        """The log lines, read anew each time."""
        return self.log.log_lines()


@dataclass(frozen=True, slots=True)
class HookResult:
    """Result of a hook that is called once per pod; true if its status is Success."""

    status: Status
    trace: Trace = field(default_factory=Trace, repr=False)

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason

    def __bool__(self) -> bool:
        return self.status.is_success


@dataclass(frozen=True, slots=True)
class PreFilterHookResult(HookResult):
    """Result of `prefilter`; `node_names` is None if all nodes remain candidates."""

    node_names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PostFilterHookResult(HookResult):
    """Result of `postfilter`: the node to nominate; mode 0 keeps a nomination, 1 overrides it."""

    nominated_node: str = ""
    nominating_mode: int = 0


@dataclass(frozen=True, slots=True)
class AnnotatedResult(HookResult):
    """Result of `reserve` and `prebind`: annotations that go with the binding; none unless the status is Success."""

    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PermitResult(HookResult):
    """Result of `permit`: the longest wait, if the status is Wait."""

    timeout_ms: int = 0


@dataclass(frozen=True, slots=True)
class NormalizeResult(HookResult):
    """Result of `normalizescore`: scores by node."""

    scores: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SortResult(HookResult):
    """Result of `queuesort`: the pod's sort key; smaller keys come first."""

    key: bytes = b""


@dataclass(frozen=True, slots=True)
class HintResult(HookResult):
    """Result of `queueinghint`: whether the event may make the pod schedulable."""

    queue: bool = True


@dataclass(frozen=True, slots=True)
class SignResult(HookResult):
    """Result of `signpod`: a signature per pod, 0 for none; empty after a failure."""

    signatures: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeStatuses:
    """Result of `filter`: `codes[i]` and `reason(i)` are of the node `names[i]`. The arrays are read-only."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    reason_numbers: NDArray[np.int64]
    reasons: tuple[str, ...]
    trace: Trace = field(default_factory=Trace, repr=False)
    hints: Mapping[int, str] = field(default_factory=dict, repr=False)  # by reason number

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.reason_numbers.setflags(write=False)

    def __len__(self) -> int:
        return len(self.names)

    def reason(self, index: int) -> str:
        number = int(self.reason_numbers[index])
        return self.reasons[number - 1] if number and self.codes[index] != Code.SUCCESS else ""

    def status(self, index: int) -> Status:
        hint = self.hints.get(int(self.reason_numbers[index]), "") if self.codes[index] != Code.SUCCESS else ""
        return Status(int(self.codes[index]), self.reason(index), hint=hint)

    @property
    def feasible(self) -> tuple[str, ...]:
        """The nodes that passed."""
        return tuple(name for name, code in zip(self.names, self.codes.tolist(), strict=True) if code == Code.SUCCESS)

    @property
    def rejected(self) -> dict[str, Status]:
        """The other nodes and their statuses."""
        return {name: self.status(i) for i, name in enumerate(self.names) if self.codes[i] != Code.SUCCESS}

    def __str__(self) -> str:
        counts: dict[str, int] = {}
        for code in self.codes.tolist():
            counts[code_label(code)] = counts.get(code_label(code), 0) + 1
        return ", ".join(f"{count} {label}" for label, count in counts.items())


@dataclass(frozen=True, slots=True)
class NodeScores(NodeStatuses):
    """Result of `score`: `scores[i]` is of the node `names[i]`."""

    scores: NDArray[np.int64] = field(kw_only=True)

    def __post_init__(self) -> None:
        NodeStatuses.__post_init__(self)
        self.scores.setflags(write=False)

    def as_dict(self) -> dict[str, int]:
        return dict(zip(self.names, self.scores.tolist(), strict=True))

    @property
    def best(self) -> str | None:
        """The node with the highest score, the first of several."""
        return self.names[int(self.scores.argmax())] if self.names else None


def known(status: Status) -> Status:
    """The status, or Error for a number that is no status code."""
    return status if 0 <= status.code <= Code.SKIP else Status(Code.ERROR, status.reasons, hint=status.hint)
