"""One-time lists of all objects that a simulation reads, from a real cluster, at one resourceVersion if possible."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.apiserver.api_resources import NODES, PODS, RESOURCES, request_info
from kubewasp.apiserver.client import server_version
from kubewasp.apiserver.errors import ApiError, invalid_answer
from kubewasp.apiserver.reflector import PAGE_SIZE, list_pages
from kubewasp.k8s.codec import decode
from kubewasp.k8s.errors import WireError
from kubewasp.live.cluster_watch import NOT_FINISHED, WATCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.apiserver.api_resources import Resource
    from kubewasp.apiserver.client import ApiClient
    from kubewasp.apiserver.raw_object import RawObject

# Nodes first: their version is that of all lists. Pods last, after all objects that affect them.
LISTED: Final = (
    NODES.name,
    "priorityclasses",
    *(name for name in WATCHED if name not in (NODES.name, PODS.name)),
    "deployments",
    "daemonsets",
    "jobs",
    PODS.name,
)
_REQUIRED: Final = frozenset((NODES.name, PODS.name))
_FORBIDDEN, _NOT_FOUND = 403, 404
# Answers to a version that the server does not have, any more or yet.
_NO_SUCH_VERSION: Final = frozenset((400, 410, 504))
_LIMIT: Final = {"limit": str(PAGE_SIZE)}


@dataclass(frozen=True, slots=True)
class ClusterLists:
    """Objects by kind, in the form of `take`, the version of the server, and warnings about what is missing."""

    objects: dict[str, list[bytes]]
    server: str
    warnings: Sequence[str]


class ListListener(Protocol):
    """Progress of the lists."""

    def phase(self, text: str) -> None: ...

    def moved(self, count: int) -> None: ...


async def read_cluster(
    client: ApiClient, take: Callable[[dict[str, Any]], bytes], listener: ListListener
) -> ClusterLists:
    """Lists every resource. `take` gives what is kept of an object, so that pages need not be."""
    lists = _Lists(client.guarded(lambda: False), take, listener)
    server = await server_version(client)
    found: dict[str, list[bytes]] = {}
    warnings: list[str] = []
    for name in LISTED:
        try:
            found[RESOURCES[name].kind] = await lists.of(RESOURCES[name])
        except ApiError as error:
            if name in _REQUIRED or error.status not in (_FORBIDDEN, _NOT_FOUND):
                raise
            warnings.append(_left_out(RESOURCES[name], error))
    if lists.late:
        warnings.append(f"read at a later time than the nodes: {', '.join(lists.late)}")
    return ClusterLists(found, server, warnings)


def _left_out(resource: Resource, error: ApiError) -> str:
    if error.status == _NOT_FOUND:
        return f"without {resource.name}: the API server has none of {resource.api_version}"
    return f'without {resource.name}: RBAC does not allow the verb "list" on them, in API group "{resource.group}"'


class _Lists:
    """Lists of one snapshot. `late` are resources that the server no longer had at the version of the first list."""

    def __init__(self, client: ApiClient, take: Callable[[dict[str, Any]], bytes], listener: ListListener) -> None:
        self.late: list[str] = []
        self._client = client
        self._take = take
        self._listener = listener
        self._version = ""

    async def of(self, resource: Resource) -> list[bytes]:
        """All objects; finished pods take no room and are left out."""
        query = {"fieldSelector": NOT_FINISHED} if resource is PODS else {}
        exact = {"resourceVersion": self._version, "resourceVersionMatch": "Exact"} if self._version else {}
        try:
            return await self._pages(resource, {**query, **_LIMIT, **exact})
        except ApiError as error:
            if error.status not in _NO_SUCH_VERSION and not error.is_too_large_version:
                raise
        if exact:
            self.late.append(resource.name)
            try:
                return await self._pages(resource, {**query, **_LIMIT})
            except ApiError as error:
                if not error.is_expired:
                    raise
        return await self._pages(resource, query)

    async def _pages(self, resource: Resource, query: dict[str, str]) -> list[bytes]:
        self._listener.phase(f"reading {resource.name}")
        found: list[bytes] = []
        async with aclosing(list_pages(self._client, resource.path, query)) as pages:
            async for page in pages:
                found += [self._taken(resource, item) for item in page.items]
                self._listener.moved(len(page.items))
        self._version = self._version or page.resource_version
        return found

    def _taken(self, resource: Resource, item: RawObject) -> bytes:
        try:
            manifest = decode(resource.kind, item.data)
        except WireError as error:
            raise invalid_answer(request_info("GET", resource.path), error) from None
        if resource.kind == "PodDisruptionBudget":
            # Zero is no default here: without the field, a simulation would count the disruptions itself.
            manifest["status"] = {"disruptionsAllowed": 0, **manifest.get("status", {})}
        return self._take({"apiVersion": resource.api_version, "kind": resource.kind, **manifest})
