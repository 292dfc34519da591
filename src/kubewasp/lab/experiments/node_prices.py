"""Prices of nodes per hour, from a label of the nodes or from a file.

```yaml
kind: NodePrices
label: [node.kubernetes.io/instance-type, karpenter.sh/capacity-type]   # one or several
prices: {m7i.xlarge: 0.2016, m7i.xlarge/spot: 0.0712}
default: 0.10                              # of nodes with other values, or without the label
```

With several labels, the key is all their values with slashes between them, or the first few of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.errors import KubewaspError
from kubewasp.k8s import manifests
from kubewasp.k8s.errors import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.input_file import InputFile
    from kubewasp.k8s.nodes import Node

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
MICROS: Final = 10**6
_MOST: Final = 10**6
_FIELDS: Final = ("apiVersion", "kind", "metadata", "label", "prices", "default")


class PriceError(KubewaspError):
    """Prices that cannot be read."""


@dataclass(frozen=True, slots=True)
class NodePrices:
    """Prices by values of labels, in millionths of the currency per hour, so that sums are exact.

    Without `prices`, the value of the first label is the price itself.
    """

    labels: tuple[str, ...] = (INSTANCE_TYPE,)
    prices: Mapping[str, int] | None = None
    default: int | None = None

    def of(self, node: Node) -> int | None:
        """Price of a node in millionths per hour; None if it has none."""
        values = [node.labels.get(label, "") for label in self.labels]
        if self.prices is None:
            try:
                return _micros(float(values[0]))
            except ValueError:
                return self.default
        for number in range(len(values), 0, -1):
            price = self.prices.get("/".join(values[:number]))
            if price is not None:
                return price
        return self.default


@dataclass(slots=True)
class PricedNodes:
    """Prices of the nodes of a cluster by name, and the names of those without one."""

    prices: NodePrices
    known: dict[str, int] = field(default_factory=dict)
    unpriced: dict[str, None] = field(default_factory=dict)

    def add(self, node: Node) -> None:
        price = self.prices.of(node)
        self.known[node.name] = price or 0
        if price is None:
            self.unpriced[node.name] = None
        else:
            self.unpriced.pop(node.name, None)

    def warning(self) -> str:
        """A text on nodes without a price; empty if all have one."""
        if not self.unpriced:
            return ""
        nodes = f"{len(self.unpriced):,} node{'s' if len(self.unpriced) > 1 else ''}"
        labels = " and ".join(self.prices.labels)
        return f"{nodes} such as {next(iter(self.unpriced))} without a price for {labels}"


def load(path: InputFile) -> NodePrices:
    """Prices in a file."""
    found = manifests.load(path)
    if len(found) != 1 or found[0].kind != "NodePrices":
        raise PriceError(f"{path}: expected one document of kind NodePrices")
    try:
        return parse(found[0].body)
    except PriceError as error:
        raise PriceError(f"{path}: {error}") from None


def parse(body: Mapping[str, Any]) -> NodePrices:
    """Prices of a document."""
    for name in body:
        if name not in _FIELDS:
            raise PriceError(f"unknown field {quoted(name)}; there are {', '.join(_FIELDS[3:])}")
    label, prices, default = body.get("label", INSTANCE_TYPE), body.get("prices"), body.get("default")
    labels = label if isinstance(label, list) else [label]
    if not labels or not all(isinstance(name, str) and name for name in labels):
        raise PriceError(f"label: expected the name of a label or several, got {shown(label)}")
    if prices is not None and not isinstance(prices, dict):
        raise PriceError(f"prices: expected prices by value of the label, got {shown(prices)}")
    return NodePrices(
        tuple(labels),
        None
        if prices is None
        else {str(key): _price(value, f"prices[{quoted(key)}]") for key, value in prices.items()},
        None if default is None else _price(default, "default"),
    )


def _price(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PriceError(f"{place}: expected a price per hour such as 0.25, got {shown(value)}")
    try:
        return _micros(value)
    except ValueError:
        raise PriceError(f"{place}: expected a price from 0 to {_MOST:,}, got {shown(value)}") from None


def _micros(price: float) -> int:
    if not 0 <= price <= _MOST:
        raise ValueError("no price")
    return round(price * MICROS)
