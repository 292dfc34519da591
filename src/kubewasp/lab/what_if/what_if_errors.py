"""Errors of what-if questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError
from kubewasp.k8s.errors import quoted
from kubewasp.k8s.spelling import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


class WhatIfError(KubewaspError):
    """A question that the input cannot answer, such as one about a node that it does not have."""


def unknown(kind: str, name: str, known: Iterable[str]) -> WhatIfError:
    """An error on a name outside the input."""
    return WhatIfError(f"there is no {kind} {quoted(name)} in the input{did_you_mean(nearest(name, known))}")
