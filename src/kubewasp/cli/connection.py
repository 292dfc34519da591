"""Which cluster a command is about: a kubeconfig, or the account of the pod it runs in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver import auth
from kubewasp.apiserver.kubeconfig import choose

if TYPE_CHECKING:
    from kubewasp.apiserver.auth import Credentials

_DEFAULT_NAMESPACE: Final = "default"


async def credentials(kubeconfig: str) -> Credentials:
    """Of the file that was given, else of $KUBECONFIG, else of the pod, else of ~/.kube/config."""
    files = _files(kubeconfig)
    return await auth.from_kubeconfig(files) if files else await auth.in_cluster()


def namespace(kubeconfig: str) -> str:
    """The one that is meant where none is named."""
    files = _files(kubeconfig)
    return (choose(files).namespace if files else "") or _DEFAULT_NAMESPACE


def _files(kubeconfig: str) -> str:
    """Empty for the account of the pod."""
    files = kubeconfig or os.environ.get("KUBECONFIG", "")
    if files or os.environ.get("KUBERNETES_SERVICE_HOST"):
        return files
    return os.path.expanduser("~/.kube/config")  # noqa: PTH111 - as it is, where there is no home
