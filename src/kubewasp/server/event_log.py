"""Log lines of frequent events, in the forms of logs.py, without a log record for each.

A record and its formatting take as long as a whole request of a web handler (`make bars ARGS='--only web'`). Any other
set-up of logging than that of `logs.configure` gets records.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Final, TextIO

from kubewasp.server.logs import JsonFormatter, KlogFormatter, header, json_text, quoted, safe
from kubewasp.server.redaction import may_have_secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

_LONGEST_PLAIN: Final = 1024
_root: Final = logging.getLogger()


class EventLog:
    """Lines of level INFO from one place in the code. Names of fields are words, none secret; numbers are finite."""

    def __init__(self, logger: logging.Logger, place: CodeType) -> None:
        self._logger = logger
        self._caller = f"{os.path.basename(place.co_filename)}:{place.co_firstlineno}"  # noqa: PTH119
        self._second = -1
        self._time = ""  # of the second

    @property
    def is_on(self) -> bool:
        return self._logger.isEnabledFor(logging.INFO)

    def write(self, message: str, fields: Mapping[str, str | int | float]) -> None:
        handler = _only_handler()
        if handler is None:
            self._logger.info(message, extra=fields, stacklevel=2)
            return
        now = time.time()
        line = (
            self._json(now, message, fields)
            if type(handler.formatter) is JsonFormatter
            else self._text(now, message, fields)
        )
        handler.acquire()
        try:
            handler.stream.write(line)
            handler.flush()
        except (OSError, ValueError):
            pass  # no reader; a service goes on without its log
        finally:
            handler.release()

    def _text(self, now: float, message: str, fields: Mapping[str, str | int | float]) -> str:
        parts = [f'{self._header(now)} "{message}"']
        for name, value in fields.items():
            if type(value) is not str:
                parts.append(f"{name}={value}")
            elif _is_plain(value):
                parts.append(f'{name}="{value}"')
            else:
                parts.append(f"{name}={quoted(safe(name, value))}")
        return f"{' '.join(parts)}\n"

    def _json(self, now: float, message: str, fields: Mapping[str, str | int | float]) -> str:
        line = {"ts": round(now * 1000, 3), "level": "info", "caller": self._caller, "msg": message, "v": 0}
        return f"{json_text(line | {name: safe(name, value) for name, value in fields.items()})}\n"

    def _header(self, now: float) -> str:
        second = int(now)
        if second != self._second:
            self._time = "I" + header(second, os.getpid(), self._caller)
            self._second = second
        return self._time.replace(".000000", f".{int(now % 1 * 1_000_000):06d}", 1)


def _is_plain(value: str) -> bool:
    """Whether a text is shown as it is: short ASCII without secrets and characters to escape."""
    return (
        len(value) <= _LONGEST_PLAIN
        and value.isascii()
        and value.isprintable()
        and '"' not in value
        and "\\" not in value
        and not may_have_secret(value)
    )


def _only_handler() -> logging.StreamHandler[TextIO] | None:
    """The handler of `logs.configure`, if there is no other."""
    handlers = _root.handlers
    if len(handlers) == 1 and isinstance(handlers[0].formatter, KlogFormatter | JsonFormatter):
        return handlers[0]  # type: ignore[return-value] # `configure` makes no others
    return None
