"""Cluster of a command: credentials and namespace from a kubeconfig or the service account of the pod."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver import auth
from kubewasp.apiserver.kubeconfig import load_context

if TYPE_CHECKING:
    from kubewasp.apiserver.auth import Credentials

_DEFAULT_NAMESPACE: Final = "default"


async def credentials(kubeconfig: str) -> Credentials:
    """Credentials of the given file, else of $KUBECONFIG, else of the pod, else of ~/.kube/config."""
    files = _files(kubeconfig)
    return await auth.from_kubeconfig(files) if files else await auth.in_cluster()


def namespace(kubeconfig: str) -> str:
    """Default namespace: that of the current context, else `default`."""
    files = _files(kubeconfig)
    return (load_context(files).namespace if files else "") or _DEFAULT_NAMESPACE


def _files(kubeconfig: str) -> str:
    """Kubeconfig files; empty for the service account of the pod."""
    files = kubeconfig or os.environ.get("KUBECONFIG", "")
    if files or os.environ.get("KUBERNETES_SERVICE_HOST"):
        return files
    return os.path.expanduser("~/.kube/config")  # noqa: PTH111 - unchanged without a home
