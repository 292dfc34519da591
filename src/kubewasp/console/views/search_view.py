"""Search over pods, nodes and plugins by parts of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.console.json_values import Document, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.console.console_source import PluginFacts
    from kubewasp.console.picture import Picture

MOST: Final = 50


def search_document(picture: Picture, plugins: Sequence[PluginFacts], asked: str) -> Document:
    """Names that contain all words of the text; those that begin with it first. Upper and lower case are the same."""
    words = asked.lower().split()
    if not words:
        return {"results": []}
    first: list[Document] = []
    others: list[Document] = []
    for kind, key, detail in _all(picture, plugins):
        lowered = key.lower()
        if not all(word in lowered for word in words):
            continue
        name = lowered.rpartition("/")[2]
        listed = first if lowered.startswith(words[0]) or name.startswith(words[0]) else others
        if len(listed) < MOST:
            listed.append({"kind": kind, "key": name_of(key), "detail": name_of(detail)})
        if len(first) >= MOST:
            break
    return {"results": [*first, *others][:MOST]}


def _all(picture: Picture, plugins: Sequence[PluginFacts]) -> Iterator[tuple[str, str, str]]:
    for plugin in plugins:
        yield "plugin", plugin.name, plugin.origin
    for name in picture.nodes:
        yield "node", name, ""
    for key, pod in picture.pods.items():
        yield "pod", key, f"on {pod.node}" if pod.node else "pending"
