"""The console of `kubewasp run`: its options, its access, and its place beside the scheduler."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.console.actions import action_routes
from kubewasp.console.attempt_statistics import AttemptStatistics
from kubewasp.console.authorities import (
    ConsoleAccessError,
    OpenAuthority,
    TokenAuthority,
    new_token,
    token_of_file,
)
from kubewasp.console.kubernetes_authority import KubernetesAuthority
from kubewasp.console.live_console import LiveConsole, Serving
from kubewasp.console.live_source import LiveSource
from kubewasp.console.pace import Pace
from kubewasp.server.allowed_hosts import is_loopback
from kubewasp.server.http_server import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.console.authorities import Authority
    from kubewasp.live.process import ClusterProcess
    from kubewasp.server.scheduler_metrics import SchedulerMetrics

logger = logging.getLogger(__name__)


class ConsoleAccess(StrEnum):
    """Values of --console-access."""

    LOCAL = "local"
    TOKEN = "token"  # noqa: S105 - a name
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """Options of the command line. Without `access`: local on loopback, tokens elsewhere or if there are some."""

    listen: tuple[str, int]
    access: ConsoleAccess | None = None
    token: Path | None = None
    action_token: Path | None = None
    certificate: str = ""
    key: str = ""
    allowed_hosts: Sequence[str] = ()

    @property
    def address(self) -> Address:
        return Address(*self.listen, self.certificate, self.key)


class RunConsole:
    """The console of one process. What is wrong with the options, is an error before the process begins."""

    def __init__(self, options: ConsoleOptions) -> None:
        self.statistics = AttemptStatistics(SYSTEM_CLOCK)
        self._options = options
        self._make_authority = _authority(options)
        Serving(options.address, self._make_authority(None))

    def console(
        self, process: ClusterProcess, metrics: SchedulerMetrics, client: ApiClient, *, title: str
    ) -> LiveConsole:
        """The console of a process that has the statistics among its listeners."""
        pace = Pace(self.statistics.is_busy)
        source = LiveSource(process, self.statistics, metrics, pace, SYSTEM_CLOCK, title=title)
        options = self._options
        serving = Serving(options.address, self._make_authority(client), options.allowed_hosts)
        app = console_pages(source, pace.run, action_routes(process.rollout))
        return LiveConsole(serving, app, source, pace, SYSTEM_CLOCK)


def _authority(options: ConsoleOptions) -> Callable[[ApiClient | None], Authority]:
    """Maker of the authority, for a client of the API server if there is one already. Raises ConsoleAccessError."""
    has_tokens = options.token is not None or options.action_token is not None
    is_local = options.listen[0] == "localhost" or is_loopback(options.listen[0])
    access = options.access or (ConsoleAccess.LOCAL if is_local and not has_tokens else ConsoleAccess.TOKEN)
    if has_tokens and access is not ConsoleAccess.TOKEN:
        raise ConsoleAccessError(f"tokens have no use with --console-access {access}")
    if access is ConsoleAccess.LOCAL:
        return lambda _client: OpenAuthority()
    if access is ConsoleAccess.TOKEN:
        made = _tokens(options)
        return lambda _client: made
    return _of_cluster


def _of_cluster(client: ApiClient | None) -> Authority:
    return _Undecided() if client is None else KubernetesAuthority(client, SYSTEM_CLOCK)


class _Undecided(OpenAuthority):
    pass


def _tokens(options: ConsoleOptions) -> Authority:
    act = "" if options.action_token is None else token_of_file(options.action_token)
    if options.token is not None:
        return TokenAuthority(token_of_file(options.token), act)
    token = new_token()
    # Not by the logger: tokens are in no log. Shown once, and kept nowhere.
    sys.stderr.write(f"Token of the console, for this run only: {token}\n")
    return TokenAuthority(token, act)
