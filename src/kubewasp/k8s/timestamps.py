"""RFC 3339 timestamps of Kubernetes, to and from microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kubewasp.k8s.errors import quoted

MICROSECONDS: Final = 1_000_000

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TIME: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})T(?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,](?P<fraction>[0-9]+))?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})"
)

# Go's zero time: "no time" in Kubernetes.
ZERO: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def parse(text: str) -> int:
    """Microseconds since 1970 of a time with a zone, finer digits dropped; ValueError if it is invalid."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{quoted(text)} is not an RFC 3339 time")
    fraction = (match["fraction"] or "0")[:6].ljust(6, "0")
    zone = "+00:00" if match["zone"] == "Z" else match["zone"]
    moment = datetime.fromisoformat(f"{match['date']}T{match['clock']}.{fraction}{zone}")
    microseconds = (moment - _EPOCH) // _MICROSECOND
    _moment(microseconds)
    return microseconds


def in_seconds(seconds: int) -> str:
    """`2006-01-02T15:04:05Z`; ValueError outside the years 1 to 9999."""
    return _moment(seconds * MICROSECONDS).isoformat(timespec="seconds").replace("+00:00", "Z")


def in_milliseconds(seconds: float) -> str:
    """`2006-01-02T15:04:05.000Z`; ValueError outside the years 1 to 9999."""
    return _moment(round(seconds * 1000) * 1000).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_microseconds(microseconds: int) -> str:
    """`2006-01-02T15:04:05.000000Z`; ValueError outside the years 1 to 9999."""
    return _moment(microseconds).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _moment(microseconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        raise ValueError("a time must be in the years 1 to 9999") from None
