"""Credential plugins of a kubeconfig: exec commands, and the auth providers `oidc` and `gcp`.

Output of plugins and bodies of token endpoints may hold secrets: error texts never quote them.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import shlex
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

import orjson

from kubewasp.apiserver.errors import ApiConfigError, ApiError
from kubewasp.apiserver.http_connection import Access
from kubewasp.apiserver.kubeconfig import environment_proxy, pem_field
from kubewasp.apiserver.tls import Pem, tls_context
from kubewasp.apiserver.transport import Transport
from kubewasp.k8s import timestamps
from kubewasp.k8s.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.apiserver.kubeconfig import AuthProvider, Cluster, Context, ExecPlugin

EXPIRY_SKEW: Final = 60.0  # seconds before its expiry from which a token counts as expired

_COMMAND_TIMEOUT: Final = 60.0
_OIDC_TIMEOUT: Final = 10.0
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Issued:
    """Credentials of a plugin. `expires_at` is in seconds since 1970; None without a known expiry."""

    token: str = field(default="", repr=False)
    certificate: Pem | None = None
    key: Pem | None = None
    expires_at: float | None = None


class CredentialPlugins:
    """Runs the plugin of a context's user. Keeps refreshed OIDC tokens in memory: kubeconfigs are never written."""

    def __init__(self) -> None:
        self._oidc = OidcTokens()

    async def issued(self, context: Context) -> Issued | None:
        """New credentials; None if the user has no plugin. An auth provider takes precedence over an exec plugin."""
        provider, plugin = context.user.auth_provider, context.user.exec_plugin
        if provider is None:
            return await exec_credential(context, plugin) if plugin is not None else None
        where = f"{context.where}: the auth-provider {quoted(provider.name)}"
        if provider.name == "oidc":
            return await self._oidc.current(where, provider)
        if provider.name == "gcp":
            return await gcp_credential(where, provider)
        raise ApiConfigError(f"{where} is not supported; use an exec plugin (such as kubelogin) or a token")


# ---------------------------------------------------------------------- exec plugins


async def exec_credential(context: Context, plugin: ExecPlugin) -> Issued:
    """Credentials printed by an exec plugin."""
    where = f"{context.where}: the exec plugin {quoted(plugin.command)}"
    has_terminal = os.isatty(0)
    if plugin.interactive_mode == "Always" and not has_terminal:
        raise ApiConfigError(f"{where} needs a terminal (interactiveMode Always), and there is none")
    interactive = has_terminal and plugin.interactive_mode != "Never"
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.wants_cluster:
        spec["cluster"] = _cluster_info(context.cluster)
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {
        **os.environ,
        **plugin.environment,
        "KUBERNETES_EXEC_INFO": orjson.dumps(info, default=str, option=orjson.OPT_NON_STR_KEYS).decode(),
    }
    output = await _output(
        where, (plugin.command, *plugin.arguments), environment, interactive=interactive, hint=plugin.install_hint
    )
    return _exec_status(where, plugin, output)


def _exec_status(where: str, plugin: ExecPlugin, output: bytes) -> Issued:
    printed = _json(output)
    status = printed.get("status")
    if (printed.get("apiVersion"), printed.get("kind")) != (plugin.api_version, "ExecCredential") or not isinstance(
        status, dict
    ):
        raise ApiConfigError(f"{where} did not print an ExecCredential of the apiVersion that the kubeconfig names")
    token, certificate, key = (
        str(status.get(name) or "") for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not certificate:
        raise ApiConfigError(f"{where} gave neither a token nor a certificate")
    if bool(certificate) != bool(key):
        raise ApiConfigError(f"{where} gave a client certificate without its key, or a key without its certificate")
    return Issued(
        token,
        Pem(f"{where}: clientCertificateData", certificate.encode()) if certificate else None,
        Pem(f"{where}: clientKeyData", key.encode()) if key else None,
        _moment(f"{where}: expirationTimestamp", status.get("expirationTimestamp")),
    )


def _cluster_info(cluster: Cluster) -> dict[str, Any]:
    known = {
        "server": cluster.server,
        "tls-server-name": cluster.server_name,
        "insecure-skip-tls-verify": cluster.skips_verification,
        "certificate-authority-data": base64.b64encode(cluster.authority.content).decode() if cluster.authority else "",
        "proxy-url": cluster.proxy,
        "config": cluster.exec_config,
    }
    return {name: value for name, value in known.items() if value}


async def _output(
    where: str, command: Sequence[str], environment: Mapping[str, str], *, interactive: bool = False, hint: str = ""
) -> bytes:
    """Standard output of a command that ends with exit code 0 in time."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=not interactive,
        )
    except OSError as error:
        advice = f"{error.strerror}; is it installed?{f' {_printable(hint)}' if hint else ''}"
        raise ApiConfigError(f"{where} cannot be run: {advice}") from None
    except ValueError:
        raise ApiConfigError(f"{where} cannot be run: a NUL character in its arguments or environment") from None
    try:
        async with asyncio.timeout(_COMMAND_TIMEOUT):
            output, _ = await process.communicate()
    except BaseException as error:
        # The whole session: a child of a wrapper script would keep the pipe open.
        with suppress(ProcessLookupError, PermissionError):
            process.kill() if interactive else os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if isinstance(error, TimeoutError):
            raise ApiConfigError(f"{where} took more than {_COMMAND_TIMEOUT:g} s") from None
        raise
    if process.returncode:
        raise ApiConfigError(f"{where} failed with exit code {process.returncode}; run it by hand to see why")
    return output


# ---------------------------------------------------------------------- auth providers


class OidcTokens:
    """ID token of the auth provider `oidc`, refreshed before it expires."""

    def __init__(self) -> None:
        self._config: Mapping[str, Any] = {}
        self._id_token = self._refresh_token = ""

    async def current(self, where: str, provider: AuthProvider) -> Issued:
        if provider.config != self._config:  # another login
            self._config = provider.config
            self._id_token, self._refresh_token = (
                str(provider.config.get(name) or "") for name in ("id-token", "refresh-token")
            )
        if not self._id_token or _is_expired(_token_expiry(where, self._id_token)):
            await self._refresh(where, provider)
        return Issued(self._id_token, expires_at=_token_expiry(where, self._id_token))

    async def _refresh(self, where: str, provider: AuthProvider) -> None:
        config = provider.config
        if not self._refresh_token:
            raise ApiConfigError(f"{where} has no valid id-token and no refresh-token; log in again")
        issuer, client = (str(config.get(name) or "") for name in ("idp-issuer-url", "client-id"))
        if not issuer.startswith(("https://", "http://")) or not client:
            raise ApiConfigError(f"{where} needs idp-issuer-url and client-id to refresh its id-token")
        authority = pem_field(where, "idp-certificate-authority", provider.folder, config)
        transport = Transport()
        try:
            discovery = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            endpoint = str(_json(await _fetch(transport, discovery, authority)).get("token_endpoint") or "")
            if not endpoint.startswith(("https://", "http://")):
                raise ApiConfigError(f"{where}: its idp-issuer-url is no OIDC issuer: no token_endpoint")
            secret = str(config.get("client-secret") or "")
            tokens = await self._exchanged(transport, endpoint, authority, client, secret)
        except ApiError as error:
            problem = f"HTTP status {error.status}" if error.status else error.message
            raise ApiConfigError(f"{where} cannot refresh its id-token: {problem}; log in again") from None
        finally:
            await transport.close()
        if not tokens.get("id_token"):
            raise ApiConfigError(f"{where} cannot refresh its id-token: the issuer gave none; log in again")
        self._id_token = str(tokens["id_token"])
        self._refresh_token = str(tokens.get("refresh_token") or self._refresh_token)

    async def _exchanged(
        self, transport: Transport, endpoint: str, authority: Pem | None, client: str, secret: str
    ) -> dict[str, Any]:
        """Answer of the token endpoint. The client authenticates by header, else in the form, as in client-go."""
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
        if secret:
            pair = f"{quote_plus(client)}:{quote_plus(secret)}"
            authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
            try:
                return _json(await _fetch(transport, endpoint, authority, form, authorization))
            except ApiError as error:
                if error.status not in (400, 401):
                    raise
            form["client_secret"] = secret
        return _json(await _fetch(transport, endpoint, authority, {**form, "client_id": client}))


async def gcp_credential(where: str, provider: AuthProvider) -> Issued:
    """Access token of the configuration, or of the command that it names (`gcloud config config-helper`)."""
    config = provider.config
    token, expires_at = str(config.get("access-token") or ""), _moment(f"{where}: expiry", config.get("expiry"))
    if token and not _is_expired(expires_at):
        return Issued(token, expires_at=expires_at)
    path, arguments = config.get("cmd-path"), config.get("cmd-args")
    if not isinstance(path, str) or not isinstance(arguments, str):
        raise ApiConfigError(f"{where} has no valid access-token; use the exec plugin gke-gcloud-auth-plugin")
    try:
        command = (path, *shlex.split(arguments))
    except ValueError:
        raise ApiConfigError(f"{where}: its cmd-args have an open quotation mark") from None
    printed = _json(await _output(f"{where}: its cmd-path {quoted(path)}", command, os.environ))
    credential = printed.get("credential")
    if not isinstance(credential, dict) or not credential.get("access_token"):
        raise ApiConfigError(f"{where}: its cmd-path {quoted(path)} did not print a credential with an access_token")
    expires_at = _moment(f"{where}: token_expiry", credential.get("token_expiry"))
    return Issued(str(credential["access_token"]), expires_at=expires_at)


async def _fetch(
    transport: Transport,
    url: str,
    authority: Pem | None,
    form: Mapping[str, str] | None = None,
    authorization: str = "",
) -> bytes:
    address = urlsplit(url)
    server = f"{address.scheme}://{address.netloc}"
    context = tls_context(authority) if address.scheme == "https" else None
    access = Access(server, context, proxy=environment_proxy(server) or None, authorization=authorization)
    return await transport.send(
        access,
        "GET" if form is None else "POST",
        f"{address.path or '/'}{f'?{address.query}' if address.query else ''}",
        query=None,
        body=urlencode(form or {}).encode(),
        content_type=_FORM,
        accept=_JSON,
        timeout=_OIDC_TIMEOUT,
    )


# ---------------------------------------------------------------------- values


def _token_expiry(where: str, token: str) -> float | None:
    """The `exp` of a JSON Web Token."""
    parts = token.split(".")
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)) if len(parts) == 3 else b""
    except (binascii.Error, ValueError):
        payload = b""
    claims = _json(payload)
    if not claims:
        raise ApiConfigError(f"{where}: its id-token is not a JSON Web Token; log in again")
    expiry = claims.get("exp")
    return float(expiry) if isinstance(expiry, int | float) else None


def _is_expired(expires_at: float | None) -> bool:
    return expires_at is not None and expires_at <= time.time() + EXPIRY_SKEW


def _moment(what: str, value: Any) -> float | None:
    """Seconds since 1970 of an RFC 3339 time, or of the datetime that YAML made of it."""
    if not value:
        return None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        return timestamps.parse(str(value)) / timestamps.MICROSECONDS
    except ValueError:
        raise ApiConfigError(f"{what} is not an RFC 3339 time such as 2026-01-02T15:04:05Z") from None


def _json(content: bytes) -> dict[str, Any]:
    """JSON object; empty for anything else."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _printable(text: str) -> str:
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
