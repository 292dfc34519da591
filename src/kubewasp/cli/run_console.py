"""The console of `kubewasp run`: its options, its access, and its place beside the scheduler."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.cli.options import ConsoleAccess
from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.console.actions import action_routes
from kubewasp.console.attempt_statistics import AttemptStatistics
from kubewasp.console.authorities import ConsoleAccessError, OpenAuthority, TokenAuthority, new_token, token_of_file
from kubewasp.console.console_pace import Pace
from kubewasp.console.kubernetes_authority import KubernetesAuthority
from kubewasp.console.live_console import LiveConsole, Serving, check_place, is_local, live_pages
from kubewasp.console.live_source import LiveSource
from kubewasp.console.recorded_decisions import RecordedDecisions
from kubewasp.server.http_server import Address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.console.authorities import Authority
    from kubewasp.live.process import ClusterProcess
    from kubewasp.server.decisions import DecisionStore
    from kubewasp.server.scheduler_metrics import SchedulerMetrics


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """Options of the command line. By default, access is local on loopback, and by token elsewhere."""

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

    @property
    def chosen_access(self) -> ConsoleAccess:
        has_tokens = self.token is not None or self.action_token is not None
        if has_tokens and self.access not in (None, ConsoleAccess.TOKEN):
            raise ConsoleAccessError(
                f"token files have no use with --console-access {self.access}: leave one of them out"
            )
        if self.access is not None:
            return self.access
        is_open = is_local(self.address.host) and not has_tokens
        return ConsoleAccess.LOCAL if is_open else ConsoleAccess.TOKEN


class RunConsole:
    """The console of one process. What is wrong with its options is an error before the process begins."""

    def __init__(self, options: ConsoleOptions) -> None:
        self.statistics = AttemptStatistics(SYSTEM_CLOCK)
        self._options = options
        access = options.chosen_access
        check_place(options.address, is_open=access is ConsoleAccess.LOCAL)
        self._authority: Authority | None = None  # of the cluster, by default
        if access is ConsoleAccess.LOCAL:
            self._authority = OpenAuthority()
        elif access is ConsoleAccess.TOKEN:
            self._authority = _tokens(options)

    def beside(
        self,
        process: ClusterProcess,
        metrics: SchedulerMetrics,
        client: ApiClient,
        title: str,
        store: DecisionStore | None,
    ) -> LiveConsole:
        """The console of a process that has the statistics among its listeners."""
        pace = Pace(self.statistics.is_busy)
        source = LiveSource(process, self.statistics, metrics, pace, SYSTEM_CLOCK, title=title)
        authority = self._authority or KubernetesAuthority(client, SYSTEM_CLOCK)
        serving = Serving(self._options.address, authority, self._options.allowed_hosts)
        scheduler = process.scheduler
        recorded = None
        if store is not None:
            recorded = RecordedDecisions(store, source.pod, lambda: scheduler.frameworks)
        pages = live_pages(source, pace, action_routes(process.rollout), recorded)
        return LiveConsole(serving, pages, source, pace, SYSTEM_CLOCK)


def _tokens(options: ConsoleOptions) -> TokenAuthority:
    act = "" if options.action_token is None else token_of_file(options.action_token)
    if options.token is not None:
        return TokenAuthority(token_of_file(options.token), act)
    token = new_token()
    # Not through the logger: no token is in a log.
    sys.stderr.write(f"Token of the console, for this process only: {token}\n")
    return TokenAuthority(token, act)
