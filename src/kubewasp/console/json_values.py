"""Values of the API's documents: times, amounts, bounded texts, and their bytes. Texts are data, never markup."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s import timestamps
from kubewasp.k8s.resources import CPU, EPHEMERAL, MEMORY
from kubewasp.server.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.resources import Resources

Document = dict[str, Any]

MOST_CHARACTERS: Final = 4096
_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
_MILLISECONDS: Final = 1000


def when(seconds: float | None) -> str | None:
    """RFC 3339 with milliseconds; None for no time, and for one that has no such form."""
    if seconds is None or not math.isfinite(seconds):
        return None
    try:
        text = timestamps.in_microseconds(round(seconds * _MILLISECONDS) * _MILLISECONDS)
    except ValueError:
        return None
    return f"{text[:-4]}Z"


def text_of(text: str) -> str:
    """A text of a guest, a manifest or an error: without secrets, and cut."""
    found = without_secrets(text if len(text) <= 4 * MOST_CHARACTERS else text[: 4 * MOST_CHARACTERS])
    return found if len(found) <= MOST_CHARACTERS else f"{found[: MOST_CHARACTERS - 1]}…"


def name_of(name: str) -> str:
    """A name, cut: names of manifests may have any length."""
    return name if len(name) <= MOST_CHARACTERS else f"{name[: MOST_CHARACTERS - 1]}…"


def unit(resource: str) -> str:
    if resource == CPU:
        return "cores"
    is_bytes = resource in (MEMORY, EPHEMERAL) or resource.startswith("hugepages-")
    return "bytes" if is_bytes else "count"


def amount(resource: str, value: float) -> float:
    """An amount of the scheduler in base units: cores, bytes, count."""
    return value / 1000 if resource == CPU else value


def amounts(requests: Resources) -> list[Document]:
    names = (CPU, MEMORY, EPHEMERAL, *requests.scalars)
    return [{"resource": name, "amount": amount(name, requests.get(name))} for name in names if requests.get(name)]


def owner_of(pod: Pod) -> str | None:
    """`Kind/name` of the controller."""
    return None if pod.owner is None else name_of(f"{pod.owner.kind}/{pod.owner.name}")


def page_of(items: Sequence[Any], after: int, limit: int) -> tuple[Sequence[Any], Document]:
    """A page of a list, and the fields `total` and, unless it is the last one, `next`."""
    end = after + limit
    more: Document = {"total": len(items)}
    if end < len(items):
        more["next"] = str(end)
    return items[after:end], more


def encoded(document: Mapping[str, Any]) -> bytes:
    """JSON; lone surrogates, which it cannot have, are replaced."""
    try:
        return orjson.dumps(document, option=_OPTIONS)
    except TypeError:
        return orjson.dumps(_replaced(document), option=_OPTIONS)


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_replaced(key): _replaced(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item) for item in value]
    return value
