"""Metrics in the Prometheus text format."""

from prometheus_client.samples import Sample

from kubewasp.server.metrics import Metrics


def _samples(metrics: Metrics, name: str) -> list[Sample]:
    return [sample for family in metrics.registry.collect() for sample in family.samples if sample.name == name]


def values(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric, by its labels in their order."""
    return {tuple(sample.labels.values()): sample.value for sample in _samples(metrics, name)}


def value(metrics: Metrics, name: str, **labels: str) -> float:
    (found,) = [sample.value for sample in _samples(metrics, name) if labels.items() <= sample.labels.items()]
    return found


def count(metrics: Metrics, name: str, **labels: str) -> float:
    """Number of observations of a histogram."""
    return value(metrics, f"{name}_count", **labels)
