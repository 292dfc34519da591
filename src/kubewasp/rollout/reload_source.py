"""Source of a process's configuration: how it is read again, the file that is watched, the ledger of its versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubewasp.input_file import StandardInput
from kubewasp.rollout.ledger import Ledger, ledger_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile


@dataclass(frozen=True, slots=True)
class ReloadSource:
    """`read` gives the configuration again, `file` is watched; empty if there is none."""

    read: Callable[[], SchedulerConfig]
    file: str = ""
    ledger: Ledger = field(default_factory=lambda: Ledger(None))


def reload_source(config: InputFile | None, read: Callable[[], SchedulerConfig]) -> ReloadSource:
    """The source of a command's configuration. Standard input is read once: it stays as it is."""
    if config is None or isinstance(config, StandardInput):
        settings = read()
        return ReloadSource(lambda: settings, "", Ledger(ledger_file("")))
    return ReloadSource(read, str(config), Ledger(ledger_file(str(config))))
