"""`kubewasp extender`: an HTTP extender for kube-scheduler."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import typer

from kubewasp.apiserver import auth
from kubewasp.cli import connection
from kubewasp.cli.extender_config import check, managed_resources
from kubewasp.extender.extender_process import ExtenderProcess
from kubewasp.framework.config.model import Extender
from kubewasp.rollout.reload_source import reload_source
from kubewasp.scheduler.composition import tune_garbage_collector
from kubewasp.scheduler.configuration import configure
from kubewasp.server import logs
from kubewasp.server.guest_log_writer import GuestLogWriter
from kubewasp.server.http_server import Address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.configuration import AddedPlugin

logger = logging.getLogger(__name__)


def run(
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    listen: tuple[str, int],
    certificate: str,
    key: str,
    client_ca: str,
    allowed_hosts: Sequence[str],
    kubeconfig: Path | None,
    in_cluster: bool,
    bind: bool,
    all_plugins: bool,
    managed: Sequence[str],
    max_body: int,
    log_format: logs.LogFormat,
    verbosity: int,
    fold_logs: bool,
) -> None:
    """Serves until SIGTERM or SIGINT."""
    if config is None and not plugins:
        raise typer.BadParameter("give --config FILE or --plugin GUEST: there is nothing to ask without a plugin")
    watches = kubeconfig is not None or in_cluster
    if kubeconfig is not None and in_cluster:
        raise typer.BadParameter("give --kubeconfig or --in-cluster, not both", param_hint="--in-cluster")
    for is_given, option in ((bind, "--bind"), (all_plugins, "--all-plugins")):
        if is_given and not watches:
            raise typer.BadParameter("needs a cluster: give --kubeconfig FILE or --in-cluster", param_hint=option)
    if bool(certificate) != bool(key):
        raise typer.BadParameter("--tls-cert and --tls-key go together", param_hint="--tls-cert")
    if client_ca and not certificate:
        raise typer.BadParameter(
            "client certificates need HTTPS: give --tls-cert and --tls-key", param_hint="--client-ca"
        )
    address = Address(*listen, certificate, key, client_ca)
    resources = managed_resources(managed)
    check(Extender(url_prefix="http://localhost", managed_resources=resources))
    handler = logs.configure(log_format, verbosity)
    added = {plugin.name for plugin in plugins}
    source = reload_source(config, lambda: configure(config, plugins, plugin_configs)[0])
    settings = source.read()
    for warning in settings.warnings:
        logger.warning("%s", warning)
    if settings.extenders:
        logger.warning("Extenders of this configuration are not called: this process is one itself")
    tune_garbage_collector()
    guest_logs = GuestLogWriter(handler, log_format, fold=fold_logs)
    process = ExtenderProcess(
        settings,
        added,
        all_plugins=all_plugins,
        managed=[item.name for item in resources],
        guest_logs=guest_logs,
        source=source,
    )
    credentials = connection.credentials(str(kubeconfig or "")) if watches else None
    if in_cluster:
        credentials = auth.in_cluster()
    try:
        asyncio.run(process.serve(address, credentials, bind=bind, max_body=max_body, allowed_hosts=allowed_hosts))
    finally:
        guest_logs.close()
