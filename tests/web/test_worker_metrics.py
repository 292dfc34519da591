"""Metrics of several workers in one sum."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from kubewasp.web.worker_metrics import Families, added_up, exposition, families_of, lasting, of_group


def worker(requests: int, in_flight: int) -> Families:
    registry = CollectorRegistry()
    Counter("requests", "Completed.", ["route"], registry=registry).labels("/a").inc(requests)
    Gauge("in_flight", "Open.", registry=registry).set(in_flight)
    Gauge("kubewasp_build_info", "Always 1.", ["version"], registry=registry).labels("1").set(1)
    Histogram("seconds", "Time.", buckets=(1, 2), registry=registry).observe(1.5)
    return families_of(registry)


def values(families: Families) -> dict[str, float]:
    text = exposition(families, "text/plain")[0].decode()
    return {
        f"{sample.name}{sorted(sample.labels.values())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_counters_gauges_and_buckets_are_added_up() -> None:
    found = values(added_up([worker(2, 1), worker(3, 4)]))
    assert found["requests_total['/a']"] == 5
    assert found["in_flight[]"] == 5
    assert found["seconds_bucket['2.0']"] == 2
    assert found["seconds_bucket['1.0']"] == 0
    assert found["seconds_sum[]"] == 3
    assert found["kubewasp_build_info['1']"] == 1


def test_counters_of_an_ended_worker_stay_and_gauges_do_not() -> None:
    found = values(added_up([lasting(worker(2, 1)), worker(3, 4)]))
    assert (found["requests_total['/a']"], found["in_flight[]"]) == (5, 4)


def test_supervisor_counts_workers_and_restarts() -> None:
    found = values(of_group(2, 3))
    assert found == {"kubewasp_http_workers[]": 2, "kubewasp_http_worker_restarts_total[]": 3}
