"""Authorization: challenges of a registry, the token server that it names, and tokens for a repository.

The address of the token server comes from the registry and may be a trap: it has to be on the registry's own host, or
public and HTTPS, or configured. Credentials are looked up when a registry asks for them.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from kubewasp.registry.connections import Server, Trust
from kubewasp.registry.errors import ContentError, DeniedError
from kubewasp.registry.oci_manifests import read_object
from kubewasp.registry.references import is_host
from kubewasp.registry.settings import Certificates, host_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.clock import Clock
    from kubewasp.registry.addresses import Network
    from kubewasp.registry.credentials import Credentials, CredentialSource
    from kubewasp.registry.settings import Endpoint

Actions = Literal["pull", "pull,push"]
_PARAMETER: Final = re.compile(r'\s*,?\s*([A-Za-z0-9_-]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]+))?')
_MAX_HEADER: Final = 8 << 10
_MAX_ANSWER: Final = 1 << 20
_MAX_TOKEN: Final = 64 << 10
_DEFAULT_SECONDS: Final = 60
_MAX_SECONDS: Final = 24 * 3600
_SKEW: Final = 10


@dataclass(frozen=True, slots=True)
class Challenge:
    """A demand for authorization, `basic` or `bearer`."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """Request to a token server."""

    server: Server
    trust: Trust
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""


class TokenFetch(Protocol):
    """Sends a request to a token server: status, and content up to a limit."""

    def __call__(self, request: TokenRequest, limit: int, /) -> tuple[int, bytes]: ...


def challenges(headers: Iterable[str]) -> list[Challenge]:
    """The challenges of WWW-Authenticate headers that are known."""
    found: list[tuple[str, dict[str, str]]] = []
    for header in headers:
        at, text = 0, header[:_MAX_HEADER]
        while (match := _PARAMETER.match(text, at)) is not None:
            at = match.end()
            name, value = match[1].lower(), match[2]
            if value is None:
                found.append((name, {}))
            elif found:
                is_quoted = value.startswith('"')
                found[-1][1].setdefault(name, re.sub(r"\\(.)", r"\1", value[1:-1]) if is_quoted else value)
    return [
        Challenge(scheme, values.get("realm", ""), values.get("service", ""), values.get("scope", ""))
        for scheme, values in found
        if scheme in ("basic", "bearer")
    ]


class Authorizer:
    """Authorization headers by repository and actions. Thread-safe."""

    def __init__(self, credentials: CredentialSource, clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._lock = threading.Lock()
        self._headers: dict[tuple[str, Actions], tuple[str, float]] = {}

    def known(self, endpoint: Endpoint, actions: Actions) -> str:
        """The header of an earlier challenge; empty if there was none, or its token has expired."""
        wanted: tuple[Actions, ...] = ("pull", "pull,push") if actions == "pull" else ("pull,push",)
        with self._lock:
            for key in wanted:
                header, until = self._headers.get((endpoint.name, key), ("", 0.0))
                if header and until > self._clock.now():
                    return header
        return ""

    def answer(
        self,
        endpoint: Endpoint,
        actions: Actions,
        asked: Iterable[Challenge],
        *,
        scheme: str,
        fetch: TokenFetch,
        own_network: Network,
    ) -> str:
        """The header for a challenge; DeniedError if there can be none. `scheme` is that of the registry."""
        given = list(asked)
        bearer = next((challenge for challenge in given if challenge.scheme == "bearer"), None)
        if bearer is None and not given:
            raise DeniedError(f"{endpoint.host} demands a kind of authorization that is not supported")
        credentials = self._credentials.find(endpoint.name)
        if credentials.registry_token:
            header, seconds = f"Bearer {credentials.registry_token}", float(_MAX_SECONDS)
        elif bearer is not None:
            request = _request(
                endpoint, actions, bearer, credentials, token_server(bearer.realm, endpoint, scheme, own_network)
            )
            header, seconds = _token(endpoint, credentials, *fetch(request, _MAX_ANSWER))
        else:
            header, seconds = credentials.basic, float(_MAX_SECONDS)
            if not header:
                raise DeniedError(no_access(endpoint, credentials))
        with self._lock:
            self._headers[endpoint.name, actions] = header, self._clock.now() + seconds
        return header

    def forget(self, endpoint: Endpoint) -> Credentials:
        """Drops what the registry has refused; the credentials that it came from."""
        with self._lock:
            for key in [key for key in self._headers if key[0] == endpoint.name]:
                del self._headers[key]
        return self._credentials.find(endpoint.name)


def no_access(endpoint: Endpoint, credentials: Credentials) -> str:
    """The problem of a denied request."""
    if credentials:
        return f"{endpoint.host} refuses access to {endpoint.repository} with the credentials of {credentials.origin}"
    cause = f" ({credentials.origin})" if credentials.origin else ""
    return (
        f"{endpoint.host} demands credentials for {endpoint.repository}, and there are none{cause}: "
        f"log in with docker or podman login {endpoint.host}, or set registries.credentialsFile"
    )


def _request(
    endpoint: Endpoint,
    actions: Actions,
    challenge: Challenge,
    credentials: Credentials,
    place: tuple[Server, Trust, str],
) -> TokenRequest:
    server, trust, target = place
    path, _, query = target.partition("?")
    scope = challenge.scope or f"repository:{endpoint.repository}:{actions}"
    values = [("service", challenge.service)] if challenge.service else []
    if credentials.identity_token:
        form = [("grant_type", "refresh_token"), ("client_id", "kubewasp"), *values, ("scope", scope)]
        body = urlencode([*form, ("refresh_token", credentials.identity_token)]).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        return TokenRequest(server, trust, "POST", target, headers, body)
    values += [("scope", part) for part in scope.split()]
    if credentials.username:
        values.append(("account", credentials.username))
    headers = {"Accept": "application/json"}
    if credentials.basic:
        headers["Authorization"] = credentials.basic
    return TokenRequest(server, trust, "GET", f"{path}?{urlencode([*parse_qsl(query), *values])}", headers)


def token_server(realm: str, endpoint: Endpoint, scheme: str, own_network: Network) -> tuple[Server, Trust, str]:
    """Server, trust and request target of a realm; DeniedError for a realm that leads elsewhere.

    `own_network` is that of the address which named the realm. The name service is not asked again: its answers are
    those of the registry's owner, who could add a private address.
    """
    try:
        found = urlsplit(realm)
        host = found.netloc.lower()
        server = Server.of(found.scheme, host) if found.scheme in ("http", "https") and is_host(host) else None
    except ValueError:
        server = None
    if server is None or not realm.isascii() or not realm.isprintable() or " " in realm:
        raise DeniedError(f"{endpoint.host} names a token server whose address is not valid")
    target = (found.path or "/") + (f"?{found.query}" if found.query else "")
    is_own, is_configured = server.name == host_name(endpoint.server), host in endpoint.token_hosts
    if server.scheme == "http" and not (scheme == "http" and (is_own or is_configured)):
        raise DeniedError(f"{endpoint.host} names a token server without TLS: {host}")
    if is_own:
        return server, Trust(endpoint.certificates, is_verified=not endpoint.insecure), target
    authorities = Certificates(endpoint.certificates.ca_files)
    if is_configured:
        return server, Trust(authorities), target
    allowed: frozenset[Network] = frozenset((own_network, "public"))
    return server, Trust(authorities if allowed != {"public"} else Certificates(), networks=allowed), target


def _token(endpoint: Endpoint, credentials: Credentials, status: int, content: bytes) -> tuple[str, float]:
    """The header, and the seconds it holds."""
    if status in (400, 401, 403):
        raise DeniedError(no_access(endpoint, credentials))
    if status != 200:
        raise DeniedError(f"the token server of {endpoint.host} answered HTTP {status}")
    try:
        answer = read_object(content, "answer", max_bytes=_MAX_ANSWER)
    except ContentError:
        answer = {}
    token = answer.get("token") or answer.get("access_token")
    if not isinstance(token, str) or len(token) > _MAX_TOKEN or not (token.isascii() and token.isprintable()):
        raise DeniedError(f"the token server of {endpoint.host} gave no token")
    seconds = answer.get("expires_in")
    if not isinstance(seconds, int | float) or not seconds > 0:
        seconds = _DEFAULT_SECONDS
    return f"Bearer {token}", max(min(seconds, _MAX_SECONDS) - _SKEW, 1.0)
