"""Table of quantities for the tests of the SDKs: results of the host. C, JavaScript and Rust read it, too."""

from pathlib import Path

from kubewasp_sdk.quantity import amount

from kubewasp.k8s import quantity

TABLE = Path(__file__).parent / "data" / "quantities.txt"
LARGEST = 2**63 - 1


def rows() -> list[tuple[str, int, int]]:
    cells = [line.split() for line in TABLE.read_text(encoding="ascii").splitlines()]
    return [(text, int(value), int(milli)) for text, value, milli in cells]


def bounded(number: int) -> int:
    return max(-LARGEST, min(LARGEST, number))


def test_the_table_has_the_results_of_the_host() -> None:
    for text, value, milli in rows():
        found = quantity.parse(text)
        thousandths = quantity.Quantity(found.nanos * 1000, found.notation).value()
        assert (bounded(found.value()), bounded(thousandths)) == (value, milli), text


def test_the_python_sdk_agrees() -> None:
    for text, value, milli in rows():
        assert (bounded(amount("memory", text)), bounded(amount("cpu", text))) == (value, milli), text
