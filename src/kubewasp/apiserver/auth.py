"""Who we are to the API server: from a kubeconfig or from the service account of a pod, kept fresh.

The library `kubernetes_asyncio` loads and refreshes; nothing else of it is used. Its messages may quote a user's entry
of the kubeconfig, token and all, so they are never passed on.
"""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
import urllib.request
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from kubewasp.apiserver import kubeconfig, tls
from kubewasp.apiserver.errors import ApiConfigError
from kubewasp.clock import SYSTEM_CLOCK, Clock
from kubewasp.k8s.errors import quoted

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

SERVICE_ACCOUNT_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 a path
SERVICE_ACCOUNT_CA: Final = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

_FILE_PERIOD: Final = 60.0  # as client-go for token files
_SOONEST: Final = 10.0  # between two loads, whatever a plugin says of its token or a server of our credentials
_EXPIRY_SKEW: Final = 60.0
_LOAD_TIMEOUT: Final = 60.0
_NEVER: Final = float("inf")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """What a request needs: where the server is, how to trust it, and the Authorization header (if any)."""

    server: str
    ssl: ssl.SSLContext | None = None
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)
    authorization: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What the library found, and in how many seconds it should look again."""

    found: SimpleNamespace = field(repr=False)
    valid_for: float
    may_change: bool = True


class Credentials:
    """Access that is loaded again when it is about to expire, or when the server has refused it.

    `may_change` says whether a later load may find something else: credentials in files of their own, or a plugin's.
    """

    def __init__(
        self, load: Callable[[], Awaitable[_Loaded]], clock: Clock = SYSTEM_CLOCK, *, access: Access | None = None
    ) -> None:
        self._load = load
        self._clock = clock
        self._access = access
        self.may_change = False
        self._material: tuple[bytes, ...] = ()
        self._loaded_at = self._due = -_NEVER if access is None else _NEVER
        self._loading = asyncio.Lock()

    async def fresh(self) -> Access:
        """What to use now. If it cannot be renewed, what was used before: the server will say whether it still does."""
        if self._access is not None and self._clock.now() < self._due:
            return self._access
        async with self._loading:
            if self._access is not None and self._clock.now() < self._due:
                return self._access
            return await self._reload()

    async def renewed(self, refused: Access) -> Access:
        """What to use after the server refused the access with 401; the same one if there is none newer."""
        async with self._loading:
            if self._access is None or (self._access is refused and self._clock.now() >= self._loaded_at + _SOONEST):
                return await self._reload()
            return self._access

    async def _reload(self) -> Access:
        self._loaded_at = self._clock.now()
        try:
            loaded = await self._load()
            access = self._made_from(loaded.found)
        except ApiConfigError as error:
            if self._access is None:
                raise
            logger.warning("Cannot renew the credentials; the old ones stay in use", extra={"err": str(error)})
            self._due = self._loaded_at + _SOONEST
            return self._access
        self._due = self._loaded_at + max(loaded.valid_for, _SOONEST)
        self.may_change = loaded.may_change
        if access != self._access:
            self._access = access
        assert self._access is not None  # noqa: S101 for the type checker
        return self._access

    def _made_from(self, found: SimpleNamespace) -> Access:
        files = (found.ssl_ca_cert, found.cert_file, found.key_file)
        context: ssl.SSLContext | None = None
        if found.host.startswith("https"):
            try:
                material = tls.material(*files)
            except OSError as error:
                raise ApiConfigError(f"{error.filename} cannot be read: {error.strerror}") from None
            if self._access is not None and self._access.ssl is not None and material == self._material:
                context = self._access.ssl
            else:
                context = tls.tls_context(
                    ca_file=files[0], cert_file=files[1], key_file=files[2], verify=found.verify_ssl
                )
            self._material = material
        authorization = str(found.api_key.get("BearerToken") or "").strip()
        if not authorization.isprintable():
            raise ApiConfigError("the token holds characters that no token has: is it the right file?")
        return Access(
            found.host, context, found.tls_server_name or None, _proxy(found.host, found.proxy), authorization
        )


def fixed(access: Access) -> Credentials:
    """Credentials that never change."""

    async def load() -> _Loaded:
        raise AssertionError("never due")

    return Credentials(load, access=access)


async def from_kubeconfig(files: str, context: str | None = None, *, clock: Clock = SYSTEM_CLOCK) -> Credentials:
    """Of a kubeconfig (or several, as in `$KUBECONFIG`) and its current context, or the one that is named."""
    credentials = Credentials(lambda: _load_kubeconfig(files, context), clock)
    await credentials.fresh()
    return credentials


async def in_cluster(
    *,
    token_file: str = SERVICE_ACCOUNT_TOKEN,
    ca_file: str = SERVICE_ACCOUNT_CA,
    environ: Mapping[str, str] | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Credentials:
    """Of the service account of the pod that this process runs in."""
    credentials = Credentials(lambda: _load_in_cluster(token_file, ca_file, environ), clock)
    await credentials.fresh()
    return credentials


async def _load_kubeconfig(files: str, context: str | None) -> _Loaded:
    choice = kubeconfig.choose(files, context)
    found = _nothing_found()
    async with _library_errors(choice):
        from kubernetes_asyncio.config import load_kube_config

        async with asyncio.timeout(_LOAD_TIMEOUT):
            loader = await load_kube_config(
                config_file=files, context=choice.context, client_configuration=found, persist_config=False
            )
    if choice.exec_command is not None and not found.api_key and not found.cert_file:
        raise ApiConfigError(f"{_plugin(choice)} gave neither a token nor a certificate")
    expiry = getattr(loader, "exec_plugin_expiry", None)
    if expiry is not None:
        return _Loaded(found, (expiry - datetime.now(UTC)).total_seconds() - _EXPIRY_SKEW)
    valid_for = _FILE_PERIOD if choice.rotates else _NEVER
    return _Loaded(found, valid_for, may_change=choice.rotates or choice.exec_command is not None)


async def _load_in_cluster(token_file: str, ca_file: str, environ: Mapping[str, str] | None) -> _Loaded:
    from kubernetes_asyncio.config import ConfigException, load_incluster_config

    found = _nothing_found()
    load: Callable[..., None] = load_incluster_config
    arguments: dict[str, Any] = {} if environ is None else {"environ": environ}
    try:
        load(
            client_configuration=found,
            try_refresh_token=False,
            token_filename=token_file,
            cert_filename=ca_file,
            **arguments,
        )
    except ConfigException as error:
        advice = "not in a pod with a service account? Then name a kubeconfig"
        raise ApiConfigError(f"no credentials in this pod: {str(error).rstrip('.')} ({advice})") from None
    except OSError as error:
        raise ApiConfigError(f"{error.filename} cannot be read: {error.strerror}") from None
    return _Loaded(found, _FILE_PERIOD)


def _nothing_found() -> SimpleNamespace:
    """What the library writes to. Its own class does the same, with logging set up as a side effect."""
    return SimpleNamespace(
        host="",
        ssl_ca_cert=None,
        cert_file=None,
        key_file=None,
        verify_ssl=True,
        tls_server_name=None,
        proxy=None,
        api_key={},
    )


@asynccontextmanager
async def _library_errors(choice: kubeconfig.Choice) -> AsyncIterator[None]:
    """Turns what the library raises into one clear error each, without its text."""
    from kubernetes_asyncio.config import ConfigException

    # It logs what a plugin wrote to stderr, which may be anything.
    logging.getLogger("kubernetes_asyncio.config").setLevel(logging.CRITICAL + 1)
    try:
        yield
    except ConfigException as error:
        raise ApiConfigError(_config_problem(choice, str(error))) from None
    except asyncio.CancelledError as error:
        await _end_plugin(error)
        raise
    except TimeoutError as error:
        await _end_plugin(error.__cause__)
        raise ApiConfigError(f"{_plugin(choice)} took more than {_LOAD_TIMEOUT:g} s") from None
    except OSError as error:
        if choice.exec_command is None:
            raise ApiConfigError(f"{_where(choice)}: {error.filename}: {error.strerror}") from None
        raise ApiConfigError(f"{_plugin(choice)} cannot be run: {error.strerror}; is it installed?") from None
    except Exception as error:  # noqa: BLE001 the library lets through whatever its parsers raise
        raise ApiConfigError(f"{_where(choice)}: its credentials cannot be loaded: {type(error).__name__}") from None


async def _end_plugin(error: BaseException | None) -> None:
    """Kills the plugin that was waited for: the library leaves it running, and keeps it to itself."""
    for frame, _ in traceback.walk_tb(error.__traceback__ if error else None):
        for value in frame.f_locals.values():
            if isinstance(value, asyncio.subprocess.Process) and value.returncode is None:
                value.kill()
                await value.wait()  # a killed process is over at once


def _config_problem(choice: kubeconfig.Choice, text: str) -> str:
    ended = re.match(r"exec: process returned (-?\d+)", text)
    if ended:
        return f"{_plugin(choice)} failed with exit code {ended[1]}; run it by hand to see why"
    if text.startswith("exec: malformed request"):
        return f"{_where(choice)}: exec needs a command and an apiVersion"
    if text.startswith("exec:"):
        return f"{_plugin(choice)} did not print an ExecCredential of the apiVersion that the kubeconfig names"
    return f"{_where(choice)}: its credentials cannot be loaded"


def _where(choice: kubeconfig.Choice) -> str:
    return f"{choice.files}: context {quoted(choice.context)}"


def _plugin(choice: kubeconfig.Choice) -> str:
    return f"{_where(choice)}: the exec plugin {quoted(choice.exec_command or '')}"


def _proxy(server: str, configured: str | None) -> str | None:
    """The proxy of the kubeconfig, or of the environment as other Kubernetes clients read it."""
    url = urlsplit(server)
    proxy = configured
    if not proxy and not urllib.request.proxy_bypass(url.hostname or ""):
        proxy = urllib.request.getproxies().get(url.scheme)
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise ApiConfigError("the proxy of the API server must be one for HTTP")
    return proxy or None
