"""Quantities such as `500m` or `2Gi`: exact parsing, rounding, the API server's canonical form; sizes for people."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

_NANO: Final = 10**9
_MAX_BINARY: Final = (2**63 - 1) * _NANO
_MAX_DECIMAL: Final = 10**60 * _NANO
_MAX_CHARACTERS: Final = 100

_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX: Final = {power: suffix for suffix, power in _BINARY.items()}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}

# The API server has no limit for decimal quantities. This one is far above any resource and bounds the memory.
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?0*[0-9]{1,3})|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))"
)


class Notation(Enum):
    """The notation of a quantity, kept for its canonical form."""

    BINARY = "2Gi"
    DECIMAL = "2G"
    EXPONENT = "2e9"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount in billionths; finer input is rounded away from zero."""

    nanos: int
    notation: Notation

    def value(self) -> int:
        """The amount as an integer, rounded away from zero."""
        return _divided(self.nanos, _NANO)

    def __str__(self) -> str:
        """The canonical form: no fraction, and the largest suffix without loss."""
        if self.nanos == 0:
            return "0"
        if self.notation is Notation.BINARY and abs(self.nanos) >= 1024 * _NANO and self.nanos % _NANO == 0:
            mantissa, power = self.nanos // _NANO, 0
            while mantissa % 1024 == 0:
                mantissa, power = mantissa // 1024, power + 10
            return f"{mantissa}{_BINARY_SUFFIX.get(power, '')}"
        mantissa, exponent = self.nanos, -9
        while mantissa % 1000 == 0:
            mantissa, exponent = mantissa // 1000, exponent + 3
        if exponent == 0:
            return str(mantissa)
        if self.notation is Notation.EXPONENT or exponent not in _DECIMAL_SUFFIX:
            return f"{mantissa}e{exponent}"
        return f"{mantissa}{_DECIMAL_SUFFIX[exponent]}"


def parse(written: str | int | float) -> Quantity:
    """The quantity of a JSON string or number; ValueError if it is invalid."""
    if isinstance(written, str):
        if len(written) > _MAX_CHARACTERS:
            raise ValueError(f"a quantity has at most {_MAX_CHARACTERS} characters")
        return _parse(written)
    if isinstance(written, bool):
        raise ValueError("a quantity is a string or a number")  # noqa: TRY004 one error type for all invalid quantities
    if isinstance(written, int):
        return _decimal(written * _NANO, Notation.DECIMAL)
    if not math.isfinite(written):
        raise ValueError(f"{written!r} is not a quantity")
    return Quantity(_parse(repr(written)).nanos, Notation.DECIMAL)


def canonical(written: str | int | float) -> str:
    """The canonical form of a quantity, e.g. `1` for `1000m`; ValueError if it is invalid."""
    return str(parse(written))


def format_size(count: int) -> str:
    """A number of bytes for people, such as 256Mi, 1.3Ki or 512 bytes; rounded."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, 6)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + _BINARY_SUFFIX[power * 10]


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m or 2Gi")
    fraction = match["fraction"] or ""
    digits = int(match["whole"] + fraction)
    sign = -1 if match["sign"] == "-" else 1
    shift = 9 - len(fraction)
    if match["exponent"] is not None:
        return _decimal(sign * _scaled(digits, int(match["exponent"]) + shift), Notation.EXPONENT)
    if match["suffix"] in _DECIMAL:
        return _decimal(sign * _scaled(digits, _DECIMAL[match["suffix"]] + shift), Notation.DECIMAL)
    nanos = _scaled(digits << _BINARY[match["suffix"]], shift)
    return Quantity(sign * min(nanos, _MAX_BINARY), Notation.BINARY)


def _decimal(nanos: int, notation: Notation) -> Quantity:
    if abs(nanos) > _MAX_DECIMAL:
        raise ValueError("a quantity is at most 1e60")
    return Quantity(nanos, notation)


def _scaled(amount: int, exponent: int) -> int:
    return amount * 10**exponent if exponent >= 0 else _divided(amount, 10**-exponent)


def _divided(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount >= 0 else amount // divisor
