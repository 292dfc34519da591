"""Writes of a scheduler: bindings, pod status, deletions, volumes and events. All of them are safe to repeat."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.apiserver.api_resources import EVENTS, PODS, RESOURCES
from kubewasp.apiserver.client import PreparedRequest
from kubewasp.apiserver.errors import NOT_ALLOWED, ApiError
from kubewasp.k8s.codec import decode, unwrap_unknown, wrap_unknown
from kubewasp.k8s.schema import message_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.apiserver.event_series import Write
    from kubewasp.k8s.pods import Pod

MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
JSON: Final = "application/json"
# Delays in seconds. After a bind without an answer the pod is read until the outcome is known.
_FIRST_LOOKUP_DELAY, _MOST_LOOKUP_DELAY = 0.1, 5.0
# An unanswered bind that was not carried out is repeated.
_BIND_RETRY_DELAYS: Final = (0.1, 0.5, 2.0)
# Other writes are retried after conflicts and server errors.
_RETRY_DELAYS: Final = (0.01, 0.05, 0.25)
_RETRYABLE_STATUS: Final = (409, 500, 503)
_VOLUMES: Final = {
    "PersistentVolume": RESOURCES["persistentvolumes"],
    "PersistentVolumeClaim": RESOURCES["persistentvolumeclaims"],
}


class ClusterWrites:
    """Writes to the API server. A write that fails raises ApiError."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> None:
        """Binds a pod, identified by its uid, and annotates it. The outcome of an unanswered bind is looked up.

        A bind that was not carried out may still be on its way. It is repeated for the same node, where resources stay
        reserved: if they were freed at once, a late bind would put one pod too many there.
        """
        request = binding_request(pod.namespace, pod.name, pod.uid, node, annotations or {})
        is_uncertain = False
        for pause in (*_BIND_RETRY_DELAYS, None):
            try:
                await self._client.send(request)
            except ApiError as error:
                if not error.maybe_done and error.status != 409:
                    raise
                is_uncertain |= error.maybe_done
                found = await self._looked_up(pod)
                bound_to = (found.get("spec") or {}).get("nodeName")
                metadata = found.get("metadata") or {}
                is_same = metadata.get("uid") == pod.uid
                if is_same and bound_to == node and _has(metadata.get("annotations") or {}, annotations or {}):
                    return
                if not is_same or bound_to or pause is None or not is_uncertain:
                    raise
                await asyncio.sleep(pause)
            else:
                return

    async def _looked_up(self, pod: Pod) -> dict[str, Any]:
        """The pod of that name, read until there is an answer."""
        pause = _FIRST_LOOKUP_DELAY
        while True:
            try:
                _, _, raw = unwrap_unknown(await self._client.request("GET", PODS.path_of(pod.namespace, pod.name)))
                return decode("Pod", raw)
            except ApiError as problem:
                if problem.status == 404:
                    raise
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MOST_LOOKUP_DELAY)

    async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Patches the status of a pod; conditions are merged by type. A deleted pod is no error."""
        path = PODS.path_of(pod.namespace, pod.name, "status")
        body = orjson.dumps({"metadata": {"uid": pod.uid}, "status": status})
        await self._write("PATCH", path, body, STRATEGIC_PATCH, may_be_gone=True)

    async def delete(self, pod: Pod) -> None:
        """Deletes a pod, identified by its uid. A deleted pod is no error."""
        body = orjson.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}})
        await self._write("DELETE", PODS.path_of(pod.namespace, pod.name), body, JSON, may_be_gone=True)

    async def update(self, manifest: Mapping[str, Any]) -> None:
        """Replaces a PersistentVolume or a claim at its resourceVersion."""
        metadata = manifest.get("metadata") or {}
        path = _VOLUMES[manifest["kind"]].path_of(metadata.get("namespace") or "", metadata.get("name") or "")
        await self._client.request("PUT", path, body=orjson.dumps({"apiVersion": "v1", **manifest}), content_type=JSON)

    async def event(self, write: Write) -> None:
        """Creates or patches an event."""
        body = orjson.dumps(write.manifest)
        if write.is_patch:
            await self._write("PATCH", EVENTS.path_of(write.namespace, write.name), body, MERGE_PATCH)
        else:
            await self._write("POST", EVENTS.path_in(write.namespace), body, JSON)

    async def _write(
        self, method: str, path: str, body: bytes, content_type: str, *, may_be_gone: bool = False
    ) -> None:
        for pause in (*_RETRY_DELAYS, None):
            try:
                await self._client.request(method, path, body=body, content_type=content_type)
            except ApiError as error:
                if may_be_gone and error.status == 404:
                    return
                if pause is None or not _is_retryable(error):
                    raise
                await asyncio.sleep(pause)
            else:
                return


def _is_retryable(error: ApiError) -> bool:
    return error.status in _RETRYABLE_STATUS or (not error.status and error.reason != NOT_ALLOWED)


def _has(found: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
    """Whether an object has all of the annotations: otherwise another request has bound the pod."""
    return all(found.get(key) == value for key, value in annotations.items())


def binding_request(
    namespace: str, name: str, uid: str, node: str, annotations: Mapping[str, str] | None = None
) -> PreparedRequest:
    """Request that binds a pod to a node. With a uid, another pod of the same name is not bound.

    The API server adds the annotations of a Binding to the pod.
    """
    message: Any = message_class("core.v1.Binding")
    metadata: dict[str, Any] = {"namespace": namespace, "name": name, "uid": uid}
    if annotations:
        metadata["annotations"] = dict(annotations)
    # Without the codec and its checks of user input: once for each pod.
    binding = message(metadata=metadata, target={"kind": "Node", "name": node}).SerializeToString()
    return PreparedRequest("POST", PODS.path_of(namespace, name, "binding"), wrap_unknown("v1", "Binding", binding))
