"""YAML documents as plain JSON values, by the rules of Kubernetes, without recursion.

PyYAML's loaders recurse on the C stack and expand `<<` without bound; a small file can crash them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from kubewasp.errors import KubewaspError
from kubewasp.k8s import json_documents
from kubewasp.k8s.errors import quoted
from kubewasp.k8s.json_documents import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ALIASED_VALUES: Final = 2_000_000

# The C parser is much faster, but PyYAML may be built without it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TAG: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = {"!", f"{_TAG}str"}
_PLAIN_TAGS: Final = {None, f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", f"{_TAG}null"}
_COLLECTION_TAGS: Final = {None, "!", f"{_TAG}map", f"{_TAG}seq"}

_CONSTANTS: Final = {
    spelling: value
    for words, value in (("null", None), ("true yes on", True), ("false no off", False))
    for word in words.split()
    for spelling in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}
_NUMBER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0x(?P<hexadecimal>[0-9a-fA-F]+)|0o?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_MAX_NUMBER_CHARACTERS: Final = 100


class YamlError(KubewaspError, ValueError):
    """Text that is not YAML, or YAML without a meaning in Kubernetes."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(f"line {line}: {problem}")


def documents(text: str) -> Iterator[Any]:
    """The values of the documents in the text."""
    events = _events(text)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            yield _Document().read(events)


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlError(error.problem or "not valid YAML", line) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(error.reason, text.encode().count(b"\n", 0, error.position) + 1) from None


class _Collection:
    """A list or mapping under construction."""

    __slots__ = ("anchor", "count_before", "key", "merged", "value")

    def __init__(self, value: Any, anchor: str | None, count_before: int) -> None:
        self.value = value
        self.anchor = anchor
        self.count_before = count_before
        self.key: str | None = None
        self.merged: list[Any] = []


class _Document:
    """One document under construction: open collections and anchored values."""

    def __init__(self) -> None:
        self._open: list[_Collection] = []
        # Each anchored value with its number of values; None while it is open.
        self._anchored: dict[str, tuple[Any, int] | None] = {}
        self._count = 0
        self._aliased = 0
        self._root: Any = None

    def read(self, events: Iterator[yaml.Event]) -> Any:
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            else:
                break
        return self._root

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count += 1
        expects_key = bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None
        # JSON keys are strings, so `80: x` has the key "80".
        value = event.value if expects_key else _value(event)
        if event.anchor:
            self._anchored[event.anchor] = value, 1
        self._place(value, event)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        if len(self._open) == MAX_DEPTH:
            raise YamlError(f"nested more than {MAX_DEPTH} deep", _line(event))
        if event.tag not in _COLLECTION_TAGS:
            raise _unknown_tag(event)
        if event.anchor:
            self._anchored[event.anchor] = None
        self._count += 1
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Collection(value, event.anchor, self._count - 1))

    def _end(self, event: yaml.Event) -> None:
        collection = self._open.pop()
        for mapping in collection.merged:
            for key, value in mapping.items():
                collection.value.setdefault(key, value)
        if collection.anchor:
            self._anchored[collection.anchor] = collection.value, self._count - collection.count_before
        self._place(collection.value, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchored:
            raise YamlError(f"*{event.anchor} has no anchor &{event.anchor} before it", _line(event))
        anchored = self._anchored[event.anchor]
        if anchored is None:
            raise YamlError(f"*{event.anchor} inside &{event.anchor}: an alias must not contain itself", _line(event))
        value, size = anchored
        self._count += size
        self._aliased += size
        if self._aliased > MAX_ALIASED_VALUES:
            raise YamlError(f"aliases expand to more than {MAX_ALIASED_VALUES:,} values", _line(event))
        self._place(value, event)

    def _place(self, value: Any, event: yaml.Event) -> None:
        """Attaches a finished value: as root, next item, key, or value of the last key."""
        if not self._open:
            self._root = value
            return
        parent = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.key is None:
            if not isinstance(value, str):
                raise YamlError("a key must be a string", _line(event))
            if value in parent.value:
                raise YamlError(f"duplicate key {quoted(value)} in the same object", _line(event))
            parent.key = value
        else:
            if parent.key == "<<":
                parent.merged.extend(_merged(value, event))
            else:
                parent.value[parent.key] = value
            parent.key = None


def _merged(value: Any, event: yaml.Event) -> list[Any]:
    mappings = value if isinstance(value, list) else [value]
    if not all(isinstance(mapping, dict) for mapping in mappings):
        raise YamlError("<< takes an object or a list of objects", _line(event))
    return mappings


def _value(event: yaml.ScalarEvent) -> Any:
    is_plain = event.implicit[0]
    if event.tag in _TEXT_TAGS or (event.tag is None and not is_plain):
        return event.value
    if event.tag not in _PLAIN_TAGS:
        raise _unknown_tag(event)
    return _plain_value(event.value)


def _plain_value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > _MAX_NUMBER_CHARACTERS or (match := _NUMBER.fullmatch(text)) is None:
        return text
    if match["float"]:
        return float(text)
    if match["hexadecimal"]:
        number = int(match["hexadecimal"], 16)
    else:
        number = int(match["octal"], 8) if match["octal"] else int(match["decimal"])
    return json_documents.integer(-number if match["sign"] == "-" else number)


def _unknown_tag(event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> YamlError:
    return YamlError(f"the tag {event.tag} has no meaning in Kubernetes", _line(event))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
