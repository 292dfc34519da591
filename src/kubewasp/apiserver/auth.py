"""Credentials for an API server, from a kubeconfig or the service account of a pod, renewed before they expire."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.credential_plugins import EXPIRY_SKEW, CredentialPlugins, Issued
from kubewasp.apiserver.errors import ApiConfigError
from kubewasp.apiserver.http_connection import Access
from kubewasp.apiserver.kubeconfig import Context, environment_proxy, load_context
from kubewasp.apiserver.tls import Pem, tls_context
from kubewasp.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

SERVICE_ACCOUNT_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 a path
SERVICE_ACCOUNT_CA: Final = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

_FILE_PERIOD: Final = 60.0  # as client-go for token files
_SHORTEST_PERIOD: Final = 10.0  # between two loads, even if a token expires sooner or the server refuses it
_NEVER: Final = float("inf")
_HOST_AND_PORT: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Login:
    """Loaded credentials and the seconds until the next load. `where` begins error texts about them.

    `may_change`: a later load may give others.
    """

    server: str
    where: str = ""
    authorization: str = field(default="", repr=False)
    authority: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = None
    verify: bool = True
    server_name: str = ""
    proxy: str = field(default="", repr=False)
    valid_for: float = _NEVER
    may_change: bool = True

    @property
    def tls_material(self) -> tuple[bytes, ...]:
        """File contents behind the TLS context, which is replaced only if they change."""
        return tuple(pem.content if pem is not None else b"" for pem in (self.authority, self.certificate, self.key))


class Credentials:
    """Access that is loaded again shortly before it expires, or after the server has refused it.

    `may_change`: from files or plugins, so that a later load may give other ones.
    """

    def __init__(
        self, load: Callable[[], Awaitable[Login]], clock: Clock = SYSTEM_CLOCK, *, access: Access | None = None
    ) -> None:
        self._load = load
        self._clock = clock
        self._access = access
        self.may_change = False
        self._material: tuple[bytes, ...] = ()
        self._loaded_at = self._due = -_NEVER if access is None else _NEVER
        self._loading = asyncio.Lock()

    async def fresh(self) -> Access:
        """Current access. If it cannot be renewed, the previous one: it may still be accepted."""
        if self._access is not None and self._clock.now() < self._due:
            return self._access
        async with self._loading:
            if self._access is not None and self._clock.now() < self._due:
                return self._access
            return await self._reload()

    async def renewed(self, refused: Access) -> Access:
        """Access after a 401; the refused one if there is no newer one."""
        async with self._loading:
            is_due = self._clock.now() >= self._loaded_at + _SHORTEST_PERIOD
            if self._access is None or (self._access is refused and is_due):
                return await self._reload()
            return self._access

    async def _reload(self) -> Access:
        self._loaded_at = self._clock.now()
        try:
            login = await self._load()
            access = self._access_of(login)
        except ApiConfigError as error:
            if self._access is None:
                raise
            logger.warning("Cannot renew the credentials; the old ones stay in use", extra={"err": str(error)})
            self._due = self._loaded_at + _SHORTEST_PERIOD
            return self._access
        self._due = self._loaded_at + max(login.valid_for, _SHORTEST_PERIOD)
        self.may_change = login.may_change
        if self._access is None or access != self._access:
            self._access = access
        return self._access

    def _access_of(self, login: Login) -> Access:
        context: ssl.SSLContext | None = None
        if login.server.startswith("https"):
            material = login.tls_material
            if self._access is not None and self._access.ssl is not None and material == self._material:
                context = self._access.ssl
            else:
                context = tls_context(login.authority, login.certificate, login.key, verify=login.verify)
            self._material = material
        authorization = login.authorization.strip()
        if not (authorization.isascii() and authorization.isprintable()):
            raise ApiConfigError(f"{login.where}: the token holds characters that no token has: is it the right file?")
        proxy = login.proxy or environment_proxy(login.server)
        return Access(login.server, context, login.server_name or None, proxy or None, authorization)


def fixed(access: Access) -> Credentials:
    """Credentials that never change."""

    async def load() -> Login:
        raise AssertionError("never due")

    return Credentials(load, access=access)


async def from_kubeconfig(files: str, context: str | None = None, *, clock: Clock = SYSTEM_CLOCK) -> Credentials:
    """Credentials of the named or current context of a kubeconfig, or of several as in `$KUBECONFIG`."""
    plugins = CredentialPlugins()

    async def load() -> Login:
        found = load_context(files, context)
        return _login(found, await plugins.issued(found))

    credentials = Credentials(load, clock)
    await credentials.fresh()
    return credentials


async def in_cluster(
    *,
    token_file: str = SERVICE_ACCOUNT_TOKEN,
    ca_file: str = SERVICE_ACCOUNT_CA,
    environ: Mapping[str, str] | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Credentials:
    """Credentials of the service account of the pod that this process runs in."""

    async def load() -> Login:
        return _service_account(token_file, ca_file, os.environ if environ is None else environ)

    credentials = Credentials(load, clock)
    await credentials.fresh()
    return credentials


def _login(context: Context, issued: Issued | None) -> Login:
    cluster, user = context.cluster, context.user
    valid_for = _FILE_PERIOD if user.rotates else _NEVER
    may_change = user.rotates or user.exec_plugin is not None
    certificate, key, authorization = user.certificate, user.key, ""
    if issued is not None:
        authorization = f"Bearer {issued.token}" if issued.token else ""
        if issued.certificate is not None:
            certificate, key = issued.certificate, issued.key
        if issued.expires_at is not None:
            valid_for = min(valid_for, issued.expires_at - time.time() - EXPIRY_SKEW)
            may_change = True
    elif user.token:
        authorization = f"Bearer {user.token}"
    elif user.basic is not None:
        authorization = f"Basic {base64.b64encode(':'.join(user.basic).encode()).decode('ascii')}"
    return Login(
        cluster.server,
        context.where,
        authorization,
        cluster.authority,
        certificate,
        key,
        not cluster.skips_verification,
        cluster.server_name,
        cluster.proxy,
        valid_for,
        may_change,
    )


def _service_account(token_file: str, ca_file: str, environ: Mapping[str, str]) -> Login:
    host, port = (environ.get(name) or "" for name in _HOST_AND_PORT)
    if not host or not port:
        raise _no_service_account(f"{' and '.join(_HOST_AND_PORT)} are not set")
    token = _mounted(token_file).decode("utf-8", "replace").strip()
    authority = Pem(ca_file, _mounted(ca_file), Path(ca_file))
    host = f"[{host}]" if ":" in host else host
    return Login(f"https://{host}:{port}", token_file, f"Bearer {token}", authority, valid_for=_FILE_PERIOD)


def _mounted(file: str) -> bytes:
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise _no_service_account(f"{file} cannot be read: {error.strerror}") from None
    if not content.strip():
        raise _no_service_account(f"{file} is empty")
    return content


def _no_service_account(problem: str) -> ApiConfigError:
    return ApiConfigError(
        f"no credentials in this pod: {problem} (not in a pod with a service account? Then name a kubeconfig)"
    )
