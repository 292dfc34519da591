"""Values of a row: a column, a constant, a product, a list; as amounts, times and text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s import quantity, timestamps
from kubewasp.k8s.duration import parse_duration
from kubewasp.k8s.errors import quoted, shown
from kubewasp.lab.traces.trace_errors import RowError, TraceError

if TYPE_CHECKING:
    from kubewasp.lab.traces.trace_rows import Row

_FIELDS: Final = ("column", "times", "unit", "value", "separator")
_UNITS: Final = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of each row.

    `column` names it; `times` is another column that it is multiplied by; `unit` is that of a quantity, such as `Mi`;
    `separator` divides it into a list. Without a column, `constant` is the value of all rows.
    """

    column: str = ""
    times: str = ""
    unit: str = ""
    separator: str = ""
    constant: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(name for name in (self.column, self.times) if name)

    def text(self, row: Row) -> str:
        """The text of the cell; empty for an empty one."""
        if not self.column:
            return self.constant
        return row.values[self.column].strip()

    def texts(self, row: Row) -> list[str]:
        """The parts of the cell; none for an empty one."""
        text = self.text(row)
        parts = text.split(self.separator) if self.separator else [text]
        return [part for part in map(str.strip, parts) if part]

    def amount(self, row: Row) -> str:
        """A quantity of Kubernetes, such as `500m`; empty for an empty cell and for 0."""
        text = self.text(row)
        if not text:
            return ""
        if not self.times and not self.unit:
            return _quantity(text, row, self.column)
        number = _number(text, row, self.column)
        if self.times:
            factor = row.values[self.times].strip()
            number *= _number(factor, row, self.times) if factor else 0
        if not number:
            return ""
        # `f` writes no exponent, which a suffix may not follow.
        return _quantity(f"{number:f}{self.unit}", row, self.column)

    def seconds(self, row: Row) -> float | None:
        """Seconds: a number, an RFC 3339 time, or a duration such as `1h30m`; None for an empty cell."""
        text = self.text(row)
        if not text:
            return None
        try:
            found = float(text)
        except ValueError:
            try:
                found = timestamps.parse(text) / timestamps.MICROSECONDS if "T" in text else parse_duration(text)
            except ValueError:
                expected = "seconds, a time such as 2026-01-05T12:00:00Z or a duration such as 90s"
                raise RowError(row.place, self.column, f"expected {expected}, got {quoted(text)}") from None
        if not math.isfinite(found):
            raise RowError(row.place, self.column, f"expected seconds, got {quoted(text)}")
        return found

    def integer(self, row: Row) -> int | None:
        text = self.text(row)
        if not text:
            return None
        number = _number(text, row, self.column)
        if number != number.to_integral_value() or abs(number) >= 2**31:
            raise RowError(row.place, self.column, f"expected a whole number of 32 bits, got {quoted(text)}")
        return int(number)


def parse_value(given: Any, path: str) -> Value:
    """A value of a map: the name of a column, or an object with `column` and more, or with `value`."""
    if isinstance(given, str) and given:
        return Value(column=given)
    if not isinstance(given, dict) or not given:
        raise TraceError(f"{path}: expected the name of a column or an object, got {shown(given)}")
    for key, item in given.items():
        if key not in _FIELDS:
            raise TraceError(f"{path}.{key}: unknown field; there are {', '.join(_FIELDS)}")
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            raise TraceError(f"{path}.{key}: expected a text, got {shown(item)}")
    texts = {key: str(item) for key, item in given.items()}
    if ("value" in texts) == ("column" in texts):
        raise TraceError(f"{path}: expected either column or value")
    if "value" in texts and len(texts) > 1:
        raise TraceError(f"{path}: value stands alone")
    if texts.get("unit", "") not in _UNITS:
        raise TraceError(f"{path}.unit: {shown(texts['unit'])} is no unit of a quantity, such as m or Mi")
    return Value(
        column=texts.get("column", ""),
        times=texts.get("times", ""),
        unit=texts.get("unit", ""),
        separator=texts.get("separator", ""),
        constant=texts.get("value", ""),
    )


def _number(text: str, row: Row, column: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise RowError(row.place, column, f"expected a number, got {quoted(text)}") from None
    if not number.is_finite() or abs(number) > 10**18:
        raise RowError(row.place, column, f"expected a number up to 10^18, got {quoted(text)}")
    return number


def _quantity(text: str, row: Row, column: str) -> str:
    try:
        found = quantity.parse(text)
    except ValueError:
        raise RowError(row.place, column, f"expected a quantity such as 500m or 2Gi, got {quoted(text)}") from None
    if found.nanos < 0:
        raise RowError(row.place, column, f"expected no negative amount, got {quoted(text)}")
    return str(found) if found.nanos else ""
