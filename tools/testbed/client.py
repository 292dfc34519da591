"""Synchronous API server client for tests: JSON, keep-alive, one connection per thread.

It shares nothing with the code under test.
"""

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from tools.testbed.certificates import KeyPair

Object = dict[str, Any]
Item = TypeVar("Item")

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
_TIMEOUT: Final = 30.0
_THREADS: Final = 8  # more do not help: Python is busy before the API server is
_PAGE: Final = 500


class ApiError(Exception):
    """An answer of the API server that is not a success."""

    def __init__(self, request: str, status: int, body: bytes) -> None:
        try:
            answer = json.loads(body)
            self.reason, self.message = str(answer.get("reason", "")), str(answer.get("message", ""))
        except ValueError:
            self.reason, self.message = "", body.decode(errors="replace")
        self.status = status
        super().__init__(f"{request}: {status} {self.reason}: {self.message}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client certificate or a token; neither is an anonymous user."""

    user: str
    certificate: KeyPair | None = None
    token: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    root: str
    plural: str
    namespaced: bool


class Client:
    """Client of one user for the server at 127.0.0.1:port. Thread-safe."""

    def __init__(self, port: int, authority: Path, credentials: Credentials) -> None:
        self.port = port
        self.user = credentials.user
        self._tls = ssl.create_default_context(cafile=str(authority))
        if credentials.certificate is not None:
            self._tls.load_cert_chain(credentials.certificate.certificate, credentials.certificate.key)
        self._headers = {"Authorization": f"Bearer {credentials.token}"} if credentials.token else {}
        self._of_thread = threading.local()
        self._connections: set[http.client.HTTPSConnection] = set()
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._kinds: dict[str, dict[str, _Kind]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        kind: str = JSON,
        accept: str = JSON,
    ) -> bytes:
        """The body of the answer. A connection closed by the server is opened again, once."""
        target = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Accept": f"{accept}, */*", "Content-Type": kind}
        connection: http.client.HTTPSConnection | None = getattr(self._of_thread, "connection", None)
        kept = connection is not None
        connection = connection or self._connected()
        try:
            connection.request(method, target, content, headers)
            response = connection.getresponse()
        except (ConnectionError, http.client.HTTPException, OSError) as error:
            self._drop(connection)
            if kept and isinstance(error, ConnectionError | ssl.SSLEOFError):
                return self.request(method, path, body, query=query, kind=kind, accept=accept)
            raise
        try:
            answer = response.read()
        except BaseException:
            self._drop(connection)
            raise
        if response.status >= 400:
            raise ApiError(f"{method} {target} as {self.user}", response.status, answer)
        return answer

    def create(self, manifest: Object) -> Object:
        metadata = manifest["metadata"]
        path = self.path(manifest["kind"], manifest["apiVersion"], metadata.get("namespace", ""))
        return self._object("POST", path, manifest)

    def get(self, kind: str, name: str, *, version: str = "v1", namespace: str = "", sub: str = "") -> Object:
        return self._object("GET", self.path(kind, version, namespace, name, sub))

    def replace(self, manifest: Object, *, sub: str = "") -> Object:
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace", "")
        return self._object(
            "PUT", self.path(manifest["kind"], manifest["apiVersion"], namespace, metadata["name"], sub), manifest
        )

    def patch(
        self,
        kind: str,
        name: str,
        patch: Any,
        *,
        version: str = "v1",
        namespace: str = "",
        sub: str = "",
        patch_type: str = MERGE_PATCH,
    ) -> Object:
        path = self.path(kind, version, namespace, name, sub)
        return dict(json.loads(self.request("PATCH", path, patch, kind=patch_type)))

    def delete(
        self, kind: str, name: str, *, version: str = "v1", namespace: str = "", grace_seconds: int | None = None
    ) -> None:
        """With 0 seconds a pod is gone at once; else it stays until a kubelet reports its end."""
        options = None if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        self.request("DELETE", self.path(kind, version, namespace, name), options)

    def delete_all(self, kind: str, *, version: str = "v1", namespace: str = "", **query: str) -> None:
        """Every object of a kind at once, pods without grace; query: labelSelector, fieldSelector."""
        self.request("DELETE", self.path(kind, version, namespace), {"gracePeriodSeconds": 0}, query=query)

    def list_all(self, kind: str, *, version: str = "v1", namespace: str = "", **query: Any) -> list[Object]:
        """All pages; query: labelSelector, fieldSelector."""
        path = self.path(kind, version, namespace)
        items: list[Object] = []
        asked: dict[str, Any] = {"limit": _PAGE, **query}
        while True:
            answer = self._object("GET", path, query=asked)
            items += answer["items"]
            token = answer["metadata"].get("continue")
            if not token:
                return items
            asked["continue"] = token

    @contextmanager
    def watch(
        self, kind: str, *, version: str = "v1", namespace: str = "", accept: str = JSON, **query: Any
    ) -> Iterator[Iterator[tuple[str, Object]]]:
        """Changes from now on, as (ADDED, MODIFIED or DELETED; the object), on its own connection.

        `query`: labelSelector, fieldSelector; a resourceVersion to start at an earlier time.
        It ends early when the API server closes it: it does so to those who read too slowly, on a busy machine soon.
        """
        path = self.path(kind, version, namespace)
        now = self._object("GET", path, query={"limit": 1})["metadata"]["resourceVersion"]
        target = f"{path}?{urlencode({'watch': 'true', 'resourceVersion': now, **query})}"
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=_TIMEOUT, context=self._tls)
        try:
            connection.request("GET", target, headers={**self._headers, "Accept": accept})
            response = connection.getresponse()
            if response.status >= 400:
                raise ApiError(f"GET {target} as {self.user}", response.status, response.read())
            yield ((event["type"], event["object"]) for event in map(json.loads, response))
        finally:
            connection.close()

    def each(self, call: Callable[[Item], object], items: Iterable[Item]) -> None:
        """Calls for many items, by several threads that keep their connections; the first error is raised."""
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(_THREADS, thread_name_prefix=f"client of {self.user}")
        for _ in self._pool.map(call, items):
            pass

    def create_all(self, manifests: Iterable[Object]) -> None:
        self.each(self.create, manifests)

    def path(self, kind: str, version: str = "v1", namespace: str = "", name: str = "", sub: str = "") -> str:
        """The path of a kind, or of one object."""
        found = self._kind(kind, version)
        scope = f"/namespaces/{namespace}" if found.namespaced and namespace else ""
        return "/".join(filter(None, (f"{found.root}{scope}", found.plural, name, sub)))

    def namespaced(self, kind: str, version: str = "v1") -> bool:
        return self._kind(kind, version).namespaced

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._of_thread = threading.local()

    def _kind(self, kind: str, version: str) -> _Kind:
        """Resources of an apiVersion, discovered once."""
        if version not in self._kinds:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            self._kinds[version] = {
                found["kind"]: _Kind(root, found["name"], found["namespaced"])
                for found in self._object("GET", root)["resources"]
                if "/" not in found["name"]
            }
        found = self._kinds[version].get(kind)
        if found is None:
            there = ", ".join(sorted(self._kinds[version]))
            raise LookupError(f"the API server has no {kind} in {version}; it has {there}")
        return found

    def _object(
        self, method: str, path: str, body: Object | None = None, *, query: Mapping[str, Any] | None = None
    ) -> Object:
        return dict(json.loads(self.request(method, path, body, query=query)))

    def _connected(self) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=_TIMEOUT, context=self._tls)
        with self._lock:
            self._connections.add(connection)
        self._of_thread.connection = connection
        return connection

    def _drop(self, connection: http.client.HTTPSConnection) -> None:
        connection.close()
        with self._lock:
            self._connections.discard(connection)
        self._of_thread.connection = None
