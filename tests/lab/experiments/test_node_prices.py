"""Prices of nodes: labels, files, and one clear line for each bad file."""

from pathlib import Path

import pytest

from kubewasp.k8s.nodes import parse_node
from kubewasp.lab.experiments import node_prices
from kubewasp.lab.experiments.node_prices import NodePrices, PriceError, load
from tests.simulation.simulating import node


def written(folder: Path, text: str) -> Path:
    file = folder / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_has_prices_by_the_value_of_a_label(tmp_path: Path) -> None:
    prices = load(written(tmp_path, "kind: NodePrices\nlabel: size\nprices: {small: 0.1, large: 2}\ndefault: 0.05\n"))
    found = [
        prices.of(parse_node(node("n", **labels)))
        for labels in ({"size": "small"}, {"size": "large"}, {"size": "x"}, {})
    ]
    assert found == [100_000, 2_000_000, 50_000, 50_000]


def test_several_labels_are_a_key_together_or_the_first_of_them(tmp_path: Path) -> None:
    prices = load(written(tmp_path, "kind: NodePrices\nlabel: [size, capacity]\nprices: {s: 2, s/spot: 1}\n"))
    labels: list[dict[str, str]] = [
        {"size": "s", "capacity": "spot"},
        {"size": "s", "capacity": "x"},
        {"size": "s"},
        {},
    ]
    assert [prices.of(parse_node(node("n", **each))) for each in labels] == [1_000_000, 2_000_000, 2_000_000, None]


def test_the_label_is_the_instance_type_unless_another_is_given() -> None:
    assert node_prices.parse({"prices": {}}).labels == ("node.kubernetes.io/instance-type",)


@pytest.mark.parametrize("text", ["free", "nan", "-1", "inf", "1e300", ""])
def test_a_label_that_is_no_price_is_none(text: str) -> None:
    assert NodePrices(("price",)).of(parse_node(node("n", price=text))) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Prices\n", "expected one document of kind NodePrices"),
        ("kind: NodePrices\nprice: {}\n", 'unknown field "price"; there are label, prices, default'),
        ("kind: NodePrices\nlabel: [1]\n", "label: expected the name of a label"),
        ("kind: NodePrices\nlabel: []\n", "label: expected the name of a label"),
        ("kind: NodePrices\nprices: 3\n", "prices: expected prices by value of the label, got 3"),
        ("kind: NodePrices\nprices: {a: cheap}\n", 'prices["a"]: expected a price per hour such as 0.25'),
        ("kind: NodePrices\nprices: {a: -1}\n", 'prices["a"]: expected a price from 0 to 1,000,000, got -1'),
        ("kind: NodePrices\ndefault: true\n", "default: expected a price per hour"),
        ("kind: NodePrices\ndefault: .nan\n", "default: expected a price per hour"),
        (f"kind: NodePrices\ndefault: {'9' * 400}\n", "default: expected a price "),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(PriceError) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert problem in str(caught.value)
