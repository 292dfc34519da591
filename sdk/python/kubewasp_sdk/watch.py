"""Position of a running hook, published on stderr a few times a second. On only after a time limit has ended a hook.

A component that is ended in the middle of a call cannot say where it was. The scheduler therefore watches the next
instance: every loop and every function call of the plugin then costs a callback.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from kubewasp_sdk import tracebacks

if TYPE_CHECKING:
    from types import CodeType, FrameType

_STDERR = 2
_INTERVAL = 0.02
_EVENTS_BETWEEN_LOOKS = 64
# Lists of results so far in the loops over nodes of guest.py: their length is the place of the current node.
_LOOPS = {"_filter": "verdicts", "_score": "scores"}


class Watch:
    """Watches this interpreter from now on."""

    def __init__(self) -> None:
        self._events = 0
        self._last = time.monotonic()
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            monitoring.use_tool_id(monitoring.DEBUGGER_ID, "kubewasp")
            kinds = monitoring.events.JUMP | monitoring.events.PY_START
            for kind in (monitoring.events.JUMP, monitoring.events.PY_START):
                monitoring.register_callback(monitoring.DEBUGGER_ID, kind, self._look)
            monitoring.set_events(monitoring.DEBUGGER_ID, kinds)

    def _look(self, _code: CodeType, *_: Any) -> None:
        self._events += 1
        if self._events % _EVENTS_BETWEEN_LOOKS:
            return
        now = time.monotonic()
        if now - self._last >= _INTERVAL:
            self._last = now
            os.write(_STDERR, json.dumps(position(sys._getframe(1))).encode() + b"\n")  # noqa: SLF001 - the only way


def position(frame: FrameType | None) -> dict[str, Any]:
    """File, line and function of the author's innermost frame, and the node of the hook."""
    found: dict[str, Any] = {}
    while frame is not None:
        place = tracebacks.author_file(frame.f_code.co_filename)
        if place and "file" not in found:
            found |= {"file": place, "line": frame.f_lineno, "function": frame.f_code.co_name}
        results = _LOOPS.get(frame.f_code.co_name)
        if results and results in frame.f_locals and "nodes" in frame.f_locals:
            nodes, done = frame.f_locals["nodes"], len(frame.f_locals[results])
            found["node"] = nodes[done].name if done < len(nodes) else ""
        frame = frame.f_back
    return found
