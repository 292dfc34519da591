"""Log lines of guests in the formats of `logs`, without a logging record per line.

HOT PATH (guard: make counts, path "guest log"). What all lines of a hook call have in common is made once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import orjson

from kubewasp.server.logs import guest_fields, header, json_text, key_text, on_one_line, quoted, safe
from kubewasp.server.redaction import REDACTED, is_secret_name, may_have_secret, without_secrets
from kubewasp.wasm.klog import pairs_of, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.server.logs import LogFormat
    from kubewasp.wasm.guest_log import Entry, HookLog

    Fields = Mapping[str, str]
    Pairs = Sequence[tuple[str, str]]
    Render = Callable[[Entry, int, str, Pairs], str]

CALLER: Final = "guest.wasm:1"  # klog lines have a file and a line; a guest has neither

_LETTERS: Final = {0: "I", 1: "W", 2: "E", 3: "E"}  # a guest's fatal line is an error: it ends nothing
_LEVELS: Final = {"I": "info", "W": "warning", "E": "error"}
_RESERVED: Final = frozenset(("ts", "level", "caller", "msg", "v", "plugin", "hook", "pod", "stream", "count"))


class CallLines:
    """Lines of one hook call in one format. Its fields and its time are the same for all lines."""

    def __init__(self, call: HookLog, format: LogFormat) -> None:  # noqa: A002
        self._ours = {"plugin": call.plugin, "hook": call.hook} | ({"pod": call.pod} if call.pod else {})
        self._one: Render = (_Json if format == "json" else _Klog)(call.time, self._ours).line

    def render(self, block: Sequence[tuple[Entry, int]]) -> list[str]:
        """A line per entry and count."""
        # Most calls log no secret, and their lines need no closer look.
        text = b"=".join([part for entry, _ in block for part in (entry[2], entry[3])])
        is_safe = text.isascii() and not may_have_secret(text.decode())
        ours, one = self._ours, self._one
        return [one(entry, count, *_content(entry, ours, is_safe=is_safe)) for entry, count in block]


class _Klog:
    def __init__(self, created: float, ours: Fields) -> None:
        self._header = header(created, os.getpid(), CALLER)
        self._end = "".join(f" {name}={quoted(str(safe(name, value)))}" for name, value in ours.items())

    def line(self, entry: Entry, count: int, text: str, fields: Pairs) -> str:
        shown = quoted(text)
        if fields:
            shown += "".join([f" {key_text(name)}={quoted(value)}" for name, value in fields])
        more = f' stream="{entry[1]}"' if entry[1] else ""
        if count > 1:
            more += f" count={count}"
        return f"{_letter(entry[0])}{self._header} {shown}{self._end}{more}\n"


class _Json:
    def __init__(self, created: float, ours: Fields) -> None:
        self._time = round(created * 1000, 3)
        self._ours = {name: safe(name, value) for name, value in ours.items()}

    def line(self, entry: Entry, count: int, text: str, fields: Pairs) -> str:
        letter = _letter(entry[0])
        line = {"ts": self._time, "level": _LEVELS[letter], "caller": CALLER, "msg": text}
        if letter == "I":
            line["v"] = 0
        line.update(fields)
        line |= self._ours
        if entry[1]:
            line["stream"] = entry[1]
        if count > 1:
            line["count"] = count
        try:
            return on_one_line(orjson.dumps(line).decode()) + "\n"
        except orjson.JSONEncodeError:  # half of a surrogate pair
            return json_text(line) + "\n"


def _letter(severity: int) -> str:
    return _LETTERS.get(severity) or ("I" if severity < 0 else "E")


def _content(entry: Entry, ours: Fields, *, is_safe: bool) -> tuple[str, Pairs]:
    """Message and fields of a line, without secrets; a plain line that is written like a structured one has fields."""
    _, _, message, pairs = entry
    fields: Pairs
    if pairs:
        text, fields = message.decode("utf-8", "replace"), pairs_of(pairs)
    else:
        text, fields = plain(message), ()
        if text.startswith('"'):
            text, found = guest_fields(text)
            fields = tuple(found.items())
    if fields and not _RESERVED.isdisjoint([name for name, _ in fields]):
        # A guest cannot set our fields: its own of these names are left out if equal, and get a prefix if not.
        fields = [
            (f"guest.{name}" if name in _RESERVED else name, value) for name, value in fields if ours.get(name) != value
        ]
    if is_safe:
        return text, fields
    return without_secrets(text), [
        (name, REDACTED if is_secret_name(name.removeprefix("guest.")) else without_secrets(value))
        for name, value in fields
    ]
