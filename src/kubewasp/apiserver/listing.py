"""All objects of a resource, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.client import DEFAULT_TRIES
from kubewasp.apiserver.errors import ApiError, invalid_answer
from kubewasp.apiserver.raw_object import Page, RawObject
from kubewasp.apiserver.request_info import request_info
from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from kubewasp.apiserver.client import ApiClient

PAGE_SIZE: Final = 500
LIST_TIMEOUT: Final = 60.0  # a page; the API server itself gives up after as long

# After so many lists that took longer than their continue token lives, all is asked for in one page.
_MOST_EXPIRED_LISTS: Final = 2


async def list_all(
    client: ApiClient, path: str, *, field_selector: str = "", tries: int = DEFAULT_TRIES
) -> tuple[list[RawObject], str]:
    """The objects, and the version of the list. Each page is tried so many times.

    The first page is asked for without a resourceVersion: the newest state there is. client-go begins with "0",
    any state that a server has at hand. Then limit is ignored, so that all comes in one answer, and a server that
    lags behind may take us back in time: we might see pods unbound that we have bound. API servers since 1.31 give
    the newest state from their cache as well, so that it costs them little.
    """
    query = {"fieldSelector": field_selector} if field_selector else {}
    for _ in range(_MOST_EXPIRED_LISTS):
        try:
            return await _pages(client, path, {**query, "limit": str(PAGE_SIZE)}, tries)
        except ApiError as error:
            if not error.is_expired:
                raise
    return await _pages(client, path, query, tries)


async def _pages(client: ApiClient, path: str, query: dict[str, str], tries: int) -> tuple[list[RawObject], str]:
    items: list[RawObject] = []
    while True:
        body = await client.request("GET", path, query=query, timeout=LIST_TIMEOUT, tries=tries)
        try:
            page = Page(body)
        except WireError as error:
            raise invalid_answer(request_info("GET", path), error) from None
        items += page.items
        if not page.continue_token:
            return items, page.resource_version
        query = {**query, "continue": page.continue_token}
