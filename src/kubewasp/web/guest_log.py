"""What guests say, in the process's log: bounded, and with the guest's name and the request's id."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubewasp.web.handler_instance import Instance, Output

logger = logging.getLogger(__name__)
_NONE: Final = 3
# Debug is -1 in the http-wasm ABI; our own handlers use the same numbers.
_LEVELS: Final = {-1: logging.INFO - 4, 0: logging.INFO, 1: logging.WARNING, 2: logging.ERROR}


def is_enabled(level: int) -> bool:
    return signed(level) < _NONE and logger.isEnabledFor(_level(level))


def log(instance: Instance, level: int, message: bytes, request_id: str) -> None:
    if is_enabled(level) and (told := instance.output.bounded(message)):
        _tell(_level(level), told.decode(errors="replace"), instance.name, request_id)


def tell_lines(guest: str, output: Output, request_id: str) -> None:
    """What it printed."""
    for line in output.lines():
        _tell(logging.INFO, line, guest, request_id)


def signed(level: int) -> int:
    return level - 2**32 if level >= 2**31 else level


def _level(level: int) -> int:
    return _LEVELS.get(signed(level), logging.INFO - 4 if signed(level) < 0 else logging.ERROR)


def _tell(level: int, line: str, guest: str, request_id: str) -> None:
    keys = {"guest": guest} | ({"requestID": request_id} if request_id else {})
    logger.log(level, "%s", line, extra=keys | {"guest_line": line})
