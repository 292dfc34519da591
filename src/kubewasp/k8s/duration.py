"""Durations in the notation of Go and Kubernetes: `1h30m`, `500ms`, `1.5s`."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Seconds. `0` needs no unit."""
    if text == "0":
        return 0.0
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    at, seconds = 0, 0.0
    while match := _PART.match(rest, at):
        seconds += float(match[1]) * _UNITS[match[2]]
        at = match.end()
    if not rest or at != len(rest):
        raise ValueError(f"expected a duration such as 500ms or 1m30s, got {text[:40]!r}")
    return sign * seconds


def format_duration(seconds: float) -> str:
    """The notation of Go: `15s`, `1m30s`, `10m0s`, `1.5ms`, `0s`."""
    nanoseconds = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and nanoseconds else ""
    for unit, size in (("ns", 1), ("µs", 1000), ("ms", 10**6)):
        if 0 < nanoseconds < size * 1000:
            return f"{sign}{_decimal(nanoseconds, size)}{unit}"
    minutes, rest = divmod(nanoseconds, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{shown}{_decimal(rest, 10**9)}s"


def _decimal(amount: int, size: int) -> str:
    whole, fraction = divmod(amount, size)
    digits = f"{fraction:0{len(str(size)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)
