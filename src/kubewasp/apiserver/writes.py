"""What a scheduler changes in a cluster: bindings, pod status, victims, volumes, events. Each is safe to repeat."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.apiserver.api_resources import EVENTS, PODS, RESOURCES
from kubewasp.apiserver.binding import binding_request
from kubewasp.apiserver.errors import NOT_ALLOWED, ApiError
from kubewasp.k8s.codec import decode, unwrap_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.apiserver.client import ApiClient
    from kubewasp.apiserver.event_series import Write
    from kubewasp.k8s.pods import Pod

MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
JSON: Final = "application/json"
# When it is not known whether a pod was bound, the API server is asked until it answers: 0.1 s, then longer.
_ASK_FIRST, _ASK_LONGEST = 0.1, 5.0
# A bind that was not answered and not made is sent again after these seconds.
_BIND_AGAIN_AFTER: Final = (0.1, 0.5, 2.0)
# A write that met another one, or a server in trouble, is tried so often, after these seconds.
_RETRY_AFTER: Final = (0.01, 0.05, 0.25)
_WORTH_ANOTHER_TRY: Final = (409, 500, 503)
_VOLUMES: Final = {
    "PersistentVolume": RESOURCES["persistentvolumes"],
    "PersistentVolumeClaim": RESOURCES["persistentvolumeclaims"],
}


class ClusterWrites:
    """The requests. Errors come back as texts: a scheduler does not end because one of them failed."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def bind(self, pod: Pod, node: str) -> str:
        """Binds a pod. Whether a bind that was not answered was made is found out; the uid keeps others from harm.

        If it was not, it may still be on its way. So it is sent again, to the same node: whichever comes first, the pod
        is where its room was kept. Were the room given up at once, a late bind would put one pod too many there.
        """
        request, is_uncertain = binding_request(pod.namespace, pod.name, pod.uid, node), False
        for pause in (*_BIND_AGAIN_AFTER, None):
            try:
                await self._client.send(request)
            except ApiError as error:
                if not error.maybe_done and error.status != 409:
                    return str(error)
                is_uncertain |= error.maybe_done
                outcome = await self._found_out(pod, node, error)
                if outcome is not None:
                    return outcome
                if pause is None or not is_uncertain:
                    return str(error)
                await asyncio.sleep(pause)
            else:
                break
        return ""

    async def _found_out(self, pod: Pod, node: str, error: ApiError) -> str | None:
        """Whether the pod is on that node after all, or cannot be; None if it has no node. Asks until this is known."""
        pause = _ASK_FIRST
        while True:
            try:
                found = await self._pod(pod)
            except ApiError as problem:
                if problem.status == 404:
                    return str(problem)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _ASK_LONGEST)
                continue
            bound_to = (found.get("spec") or {}).get("nodeName")
            is_same = (found.get("metadata") or {}).get("uid") == pod.uid
            if is_same and not bound_to:
                return None
            return "" if is_same and bound_to == node else str(error)

    async def _pod(self, pod: Pod) -> dict[str, Any]:
        _, _, raw = unwrap_unknown(await self._client.request("GET", PODS.path_of(pod.namespace, pod.name)))
        return decode("Pod", raw)

    async def patch_status(self, pod: Pod, status: Mapping[str, Any]) -> str:
        """Changes parts of a pod's status: conditions are merged by their type. A pod that is gone needs none."""
        path = PODS.path_of(pod.namespace, pod.name, "status")
        body = orjson.dumps({"metadata": {"uid": pod.uid}, "status": status})
        return await self._write("PATCH", path, body, STRATEGIC_PATCH, gone_is_fine=True)

    async def delete(self, pod: Pod) -> str:
        """Deletes just this pod, not another one of its name. One that is gone already is as good."""
        body = orjson.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}})
        return await self._write("DELETE", PODS.path_of(pod.namespace, pod.name), body, JSON, gone_is_fine=True)

    async def update(self, manifest: Mapping[str, Any]) -> str:
        """Replaces a PersistentVolume or a claim, if nobody else has changed it meanwhile."""
        metadata = manifest.get("metadata") or {}
        path = _VOLUMES[manifest["kind"]].path_of(metadata.get("namespace") or "", metadata.get("name") or "")
        body = orjson.dumps({"apiVersion": "v1", **manifest})
        try:
            await self._client.request("PUT", path, body=body, content_type=JSON)
        except ApiError as error:
            return str(error)
        return ""

    async def event(self, write: Write) -> str:
        body = orjson.dumps(write.manifest)
        if write.is_patch:
            return await self._write("PATCH", EVENTS.path_of(write.namespace, write.name), body, MERGE_PATCH)
        return await self._write("POST", EVENTS.path_in(write.namespace), body, JSON)

    async def _write(
        self, method: str, path: str, body: bytes, content_type: str, *, gone_is_fine: bool = False
    ) -> str:
        for pause in (*_RETRY_AFTER, None):
            try:
                await self._client.request(method, path, body=body, content_type=content_type)
            except ApiError as error:
                if gone_is_fine and error.status == 404:
                    return ""
                if pause is None or not _worth_another_try(error):
                    return str(error)
                await asyncio.sleep(pause)
            else:
                break
        return ""


def _worth_another_try(error: ApiError) -> bool:
    return error.status in _WORTH_ANOTHER_TRY or (not error.status and error.reason != NOT_ALLOWED)
