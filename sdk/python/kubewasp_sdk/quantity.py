"""Kubernetes quantities such as `500m`, `1.5Gi` or `2e3`, exact to a billionth."""

from __future__ import annotations

import re

NANO = 10**9
_FORM = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,3})|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))"
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_MOST_CHARACTERS = 100


def nanos(quantity: str | int | float) -> int:
    """The value in billionths, rounded away from zero."""
    text = str(quantity)
    found = _FORM.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        raise ValueError(f"not a quantity: {text[:_MOST_CHARACTERS]!r}")
    fraction = found["fraction"] or ""
    digits = int(found["whole"] + fraction or "0")
    suffix = found["suffix"] or ""
    power = int(found["exponent"]) if found["exponent"] else _DECIMAL.get(suffix, 0)
    ten = 9 + power - len(fraction)
    value = digits << _BINARY.get(suffix, 0)
    scale: int = 10 ** abs(ten)
    value = value * scale if ten >= 0 else -(-value // scale)
    return -value if found["sign"] == "-" else value


def whole(resource: str, in_nanos: int) -> int:
    """The value in scheduler units, rounded away from zero: milli-CPU for cpu, else whole units."""
    unit = NANO // 1000 if resource == "cpu" else NANO
    return -(-in_nanos // unit) if in_nanos >= 0 else in_nanos // unit


def amount(resource: str, quantity: str | int | float) -> int:
    """A quantity in scheduler units: `amount("cpu", "1.5")` is 1500."""
    return whole(resource, nanos(quantity))
