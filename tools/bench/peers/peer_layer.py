"""Measurement of all peers, each by turns with its guest on kubewasp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.bench.labels import HERE
from tools.bench.peers import go_extension, wazero_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tools.bench.model import Measurement, Skipped
    from tools.bench.peers.pairs import Pair

FORMS: Final = tuple(form + here for form in (wazero_host.FORM, go_extension.FORM) for here in ("", HERE))
SIZES: Final = (100, 1_000, 5_000, 20_000)
REPETITIONS: Final = 5


def pairs() -> tuple[Pair, ...]:
    return wazero_host.pair(), wazero_host.labels_pair(), go_extension.pair()


def steps(sizes: Sequence[int] = SIZES, *, repetitions: int = REPETITIONS, chosen: Sequence[Pair] | None = None) -> int:
    """Number of `step` calls of `measure`, also for unavailable peers."""
    return sum(pair.steps(sizes, repetitions) for pair in (pairs() if chosen is None else chosen))


def measure(
    step: Callable[[str], None],
    sizes: Sequence[int] = SIZES,
    *,
    repetitions: int = REPETITIONS,
    chosen: Sequence[Pair] | None = None,
) -> Iterator[Measurement | Skipped]:
    """Each peer and its guest on kubewasp by turns; an unavailable peer is skipped with the reason."""
    for pair in pairs() if chosen is None else chosen:
        yield from pair.measure(step, sizes, repetitions)
