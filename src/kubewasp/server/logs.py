"""Logs in the formats of Kubernetes components: klog text or JSON, one line per record, without secrets.

    logger.log(verbosity(2), "Successfully bound pod to node", extra={"pod": pod.key, "node": node})

The keys of `extra` are the fields of the line, in that order. klog's `-v=N` is Python's level 20 - N: `-v=0` shows INFO
and above, `-v=10` includes DEBUG.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import time
import traceback
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from kubewasp.k8s.texts import shortened
from kubewasp.server.redaction import REDACTED, document_without_secrets, is_secret_name, without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

LogFormat = Literal["text", "json"]
_MAX_VERBOSITY: Final = 19
_LONGEST_TEXT: Final = 16 * 1024  # bytes of a message or value

_LETTERS = ((logging.CRITICAL, "F"), (logging.ERROR, "E"), (logging.WARNING, "W"), (0, "I"))
_LEVELS = {"F": "fatal", "E": "error", "W": "warning", "I": "info"}
_STANDARD_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "guest_line"}
_TEXT = r'"(?:[^"\\]|\\.)*"'
_STRUCTURED = re.compile(rf"{_TEXT}(?: [^\s=\"]+={_TEXT})*")
_STRUCTURED_PAIR = re.compile(rf" ([^\s=\"]+)=({_TEXT})")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def verbosity(level: int) -> int:
    """Python's level of klog's `-v=level`."""
    return logging.INFO - min(max(level, 0), _MAX_VERBOSITY)


def configure(
    format: LogFormat = "text",  # noqa: A002
    level: int = 0,
    stream: TextIO | None = None,
) -> logging.StreamHandler[TextIO]:
    """Sets up logging for the process. Other libraries log warnings and errors only."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else KlogFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("kubewasp").setLevel(verbosity(level))
    return handler


class KlogFormatter(logging.Formatter):
    """klog text: `I1115 12:00:00.000000    4711 queue.py:96] "message" key="value"`."""

    def format(self, record: logging.LogRecord) -> str:
        message, keys = _content(record)
        parts = [_header(record), quoted(message)]
        parts += (f"{key_text(name)}={_shown(value)}" for name, value in keys.items())
        return " ".join(parts)


class JsonFormatter(logging.Formatter):
    """klog JSON: one object per line; `ts` is in milliseconds since 1970."""

    def format(self, record: logging.LogRecord) -> str:
        message, keys = _content(record)
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "level": _LEVELS[_letter(record)],
            "caller": f"{record.filename}:{record.lineno}",
            "msg": message,
        }
        if _letter(record) == "I":
            line["v"] = max(0, logging.INFO - record.levelno)
        line |= {name: value for name, value in keys.items() if name not in line}
        return json_text(line)


def _content(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """The message and the keys, without secrets."""
    keys: dict[str, Any] = {name: value for name, value in record.__dict__.items() if name not in _STANDARD_ATTRIBUTES}
    line = getattr(record, "guest_line", None)
    if isinstance(line, str):
        message, fields = guest_fields(line)
        keys = {**fields, **keys}  # a guest cannot override the plugin's name
    else:
        message = record.getMessage()
    if record.exc_info and record.exc_info[1] is not None:
        keys.setdefault("err", str(record.exc_info[1]) or type(record.exc_info[1]).__name__)
        keys["stacktrace"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
    return _safe_text(message), {name: safe(name, value) for name, value in keys.items()}


def guest_fields(line: str) -> tuple[str, Mapping[str, str]]:
    """Message and fields of a guest's line; a plain line has no fields."""
    if _STRUCTURED.fullmatch(line) is None:
        return line, {}
    first = re.match(_TEXT, line)
    if first is None:
        return line, {}
    try:
        pairs = {name: str(json.loads(text)) for name, text in _STRUCTURED_PAIR.findall(line[first.end() :])}
        return str(json.loads(first.group())), pairs
    except json.JSONDecodeError:
        return line, {}


def safe(name: str, value: Any) -> Any:
    """The value without secrets, and without numbers that JSON does not have."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_secret_name(name):
        return REDACTED
    if isinstance(value, dict | list | tuple):
        return document_without_secrets(value)
    return _safe_text(str(value))


def _safe_text(text: str) -> str:
    """The text without secrets. Of a long one, such as an error with a guest's output, the beginning."""
    return without_secrets(shortened(text, _LONGEST_TEXT))


def _letter(record: logging.LogRecord) -> str:
    return next(letter for level, letter in _LETTERS if record.levelno >= level)


def _header(record: logging.LogRecord) -> str:
    pid = record.process or os.getpid()
    return _letter(record) + header(record.created, pid, f"{record.filename}:{record.lineno}")


def header(created: float, pid: int, caller: str) -> str:
    """Klog's header after the letter of the severity."""
    moment = time.strftime("%m%d %H:%M:%S", time.localtime(created))
    micros = int(created % 1 * 1_000_000)
    return f"{moment}.{micros:06d} {pid:7d} {caller}]"


@lru_cache(maxsize=1024)
def key_text(name: str) -> str:
    """The key, quoted unless it is a single word; keys of guests are arbitrary."""
    return name if name and not re.search(r'[\s="]', name) and name.isprintable() else quoted(name)


def _shown(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict | list):
        return json_text(value)
    return quoted(str(value))


def json_text(value: Any) -> str:
    """JSON on one line, by `json` instead of orjson, which rejects the lone surrogates of undecodable file names."""
    text = json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
    return on_one_line(text)


def on_one_line(text: str) -> str:
    """JSON with escapes for line separators such as U+2028: some log readers break lines there."""
    return text if text.isprintable() else "".join(map(_plain, text))


def quoted(text: str) -> str:
    """The text in quotes, on one line, with escapes for unprintable characters."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(char) or _plain(char) for char in text) + '"'


def _plain(char: str) -> str:
    if char.isprintable():
        return char
    number = ord(char)
    if number > 0xFFFF:  # surrogate pair, as in JSON
        number -= 0x10000
        return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
    return f"\\u{number:04x}"
