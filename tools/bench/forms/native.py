"""Plugins in the scheduler's process: over columns, as built-in ones are, and node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench.forms.form import TableForm
from tools.bench.policies import BUILT_IN, IN_PROCESS

if TYPE_CHECKING:
    from kubewasp.framework.plugin import Plugin


class BuiltIn(TableForm):
    def make(self, *, use_cache: bool) -> Plugin:  # noqa: ARG002 - nothing is compiled
        return BUILT_IN[self.policy]()


class InProcess(TableForm):
    def make(self, *, use_cache: bool) -> Plugin:  # noqa: ARG002
        return IN_PROCESS[self.policy]()
