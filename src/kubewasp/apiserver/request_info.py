"""What a request asks for, in the words of RBAC: verb, API group, resource, namespace and name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
# Below a namespace these are parts of the namespace itself, not resources in it.
_PARTS_OF_A_NAMESPACE: Final = frozenset(("status", "finalize"))


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """As RBAC sees a request; `resource` is `pods` or, with a subresource, `pods/binding`."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        place = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.verb} {self.resource} {place}".rstrip()


def request_info(method: str, path: str, query: Mapping[str, str] | None = None) -> RequestInfo:
    """Reads a path such as `/api/v1/namespaces/NS/pods/NAME/binding`; one of another form is named as it is."""
    root, *parts = path.strip("/").split("/")
    if root == "apis" and len(parts) > 2:
        group, version, *parts = parts
    elif root == "api" and len(parts) > 1:
        group, (version, *parts) = "", parts
    else:
        return RequestInfo(method.lower(), "", "", path)
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in _PARTS_OF_A_NAMESPACE:
        _, namespace, *parts = parts
    resource, name, subresource = (*parts, "", "")[:3]
    verb = _verb(method, name, query or {})
    return RequestInfo(verb, group, version, f"{resource}/{subresource}".rstrip("/"), namespace, name)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET":
        if query.get("watch"):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, method.lower())
