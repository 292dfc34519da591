"""Settings of rollouts: the stages of a new version of a wasm plugin, and the bounds that end them."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.selectors import LabelSelector

# Parts of a share: a percentage may have two decimals.
_PARTS: Final = 10_000
# Pods that a percentage counts of, where no number of pods is given.
LEAST_PODS: Final = 100


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of pods, or a percentage of them."""

    value: float
    is_percentage: bool = False

    def of(self, pods: int) -> int:
        """The number of pods, of so many."""
        return math.floor(self.value * pods / 100) if self.is_percentage else int(self.value)

    def __str__(self) -> str:
        return f"{self.value:g}%" if self.is_percentage else f"{self.value:g}"


ONE_PERCENT: Final = Amount(1.0, is_percentage=True)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a version on trial; None means none. `max_p99` is the plugin's time per pod, in seconds."""

    max_errors: Amount | None = ONE_PERCENT
    max_timeouts: Amount | None = ONE_PERCENT
    max_p99: float | None = None
    max_disagreement: Amount | None = None


@dataclass(frozen=True, slots=True)
class PodShare:
    """A share of the pods, in some namespaces, with some labels. All that is given must hold.

    The share is by the hash of the owner's uid, so that the pods of one ReplicaSet are on one side; of a pod without an
    owner, by its own uid. It depends on the pod alone: a pod stays on its side.
    """

    percentage: float = 100.0
    namespaces: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    label_selector: Mapping[str, Any] = field(default_factory=dict, compare=False)  # of the file

    def takes(self, pod: Pod) -> bool:
        if self.namespaces and pod.namespace not in self.namespaces:
            return False
        if self.selector is not None and not self.selector.matches(pod.labels):
            return False
        owner = pod.owner
        uid = pod.uid if owner is None else owner.uid or f"{pod.namespace}/{owner.name}"  # manifests have no uids
        return is_in_share(uid, self.percentage)


def is_in_share(uid: str, percentage: float) -> bool:
    return percentage >= 100 or zlib.crc32(uid.encode()) % _PARTS < percentage * _PARTS / 100


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Stages of a new version: `shadow` (a percentage; 0 is none), `canary`, then all pods.

    A stage ends after `promote_after` pods within the bounds; None waits for `kubewasp rollout promote`. For
    `rollback_within` pods after the swap, a broken bound brings the version before back; 0 is never.
    """

    shadow: float = 0.0
    canary: PodShare | None = None
    promote_after: int | None = None
    promote_bounds: Bounds = field(default_factory=Bounds)
    rollback_within: int = 500
    rollback_bounds: Bounds = field(default_factory=Bounds)

    @property
    def has_stages(self) -> bool:
        return bool(self.shadow) or self.canary is not None


DEFAULT_ROLLOUT: Final = RolloutSettings()


@dataclass(frozen=True, slots=True)
class ReloadSettings:
    """`watch`: whether changes of files and tags are noticed; `interval`: between two looks at tags, in seconds."""

    watch: bool = True
    interval: float = 60.0


DEFAULT_RELOAD: Final = ReloadSettings()
