"""Health, metrics, configuration and logs of a running scheduler, compatible with kube-scheduler."""

import json
import re
import signal
import urllib.error
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kubewasp.server.metric_list import METRICS, NOT_OFFERED
from tests.deploy.manifests import cluster_rules
from tests.e2e.kubewasp import SOON, ours, wait_node, wait_unschedulable
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster, pod
from tools.testbed.kubewasp import NAME, Kubewasp, StartKubewasp, profile
from tools.testbed.nodes import LEASES, FakeNodes
from tools.testbed.servers import KubeScheduler, Servers, StartKubeScheduler
from tools.testbed.waiting import wait_until

OURS_AND_THEIRS: Final = re.compile(r"scheduler_|rest_client_|leader_election_|workqueue_")
TIMES: Final = {"leaseDuration": "20s", "renewDeadline": "15s", "retryPeriod": "500ms"}
Families = dict[str, tuple[str, frozenset[str]]]


@pytest.fixture
def election(cluster: Cluster) -> Iterator[Object]:
    """With a lease for each scheduler."""
    yield {"leaderElect": True, "resourceNamespace": cluster.namespace, **TIMES}
    cluster.client.delete_all("Lease", version=LEASES, namespace=cluster.namespace)


def leading(start: StartKubewasp, election: Object, **options: Any) -> Kubewasp:
    scheduler = start(config={"leaderElection": {**election, "resourceName": NAME}}, **options)
    wait_until(lambda: scheduler.leads, SOON, "it to lead", scheduler.log_tail)
    return scheduler


def schedule_a_few(cluster: Cluster, *schedulers: str) -> None:
    """The same for each: pods that fit, one that does not, one with a gate, one that preempts another."""
    important = f"{cluster.namespace}-important"
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": important}, "value": 9}
    )
    for scheduler in schedulers:
        there = {"scheduler": scheduler, "cpu": "6", "nodeSelector": {"for": scheduler}}
        cluster.create(pod(f"{scheduler}-victim", **there))
        wait_node(cluster, f"{scheduler}-victim")
        cluster.create(pod(f"{scheduler}-urgent", priorityClassName=important, **there))
        wait_node(cluster, f"{scheduler}-urgent")
        cluster.create_all(pod(f"{scheduler}-{number}", scheduler=scheduler) for number in range(30))
        cluster.create(pod(f"{scheduler}-too-big", scheduler=scheduler, cpu="100"))
        cluster.create(pod(f"{scheduler}-gated", scheduler=scheduler, schedulingGates=[{"name": "example.com/gate"}]))
        for number in range(30):
            wait_node(cluster, f"{scheduler}-{number}")
        wait_unschedulable(cluster, f"{scheduler}-too-big")


def families(text: str) -> Families:
    """The type and the names of the labels of each metric that has values."""
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        base = name if name in kinds else re.sub(r"_(bucket|sum|count)$", "", name)
        found.setdefault(base, set()).update(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels))
    return {
        name: (kinds[name], frozenset(labels - {"le"})) for name, labels in found.items() if OURS_AND_THEIRS.match(name)
    }


def test_every_metric_of_kube_scheduler_is_there_with_its_labels_or_explained(
    cluster: Cluster,
    fake_nodes: FakeNodes,
    start_kubewasp: StartKubewasp,
    start_kube_scheduler: StartKubeScheduler,
    election: Object,
) -> None:
    for name in (NAME, "default-scheduler"):
        fake_nodes.create(1, labels={"for": name})
    fake_nodes.create(1)
    scheduler = leading(start_kubewasp, election)
    theirs = start_kube_scheduler(config={"leaderElection": {**election, "resourceName": "kube-scheduler"}})
    schedule_a_few(cluster, NAME, "default-scheduler")
    reference, found = families(theirs.metrics()), families(scheduler.get("/metrics"))
    assert len(reference) > 25
    assert reference.keys() - found.keys() <= NOT_OFFERED.keys() | SOMETIMES
    assert {name: found[name] for name in reference if name in found} == {
        name: told for name, told in reference.items() if name in found
    }
    # What has values here is told in the list of metrics as it is.
    listed = {metric.name: (metric.kind, frozenset(metric.labels)) for metric in METRICS}
    assert {name: listed[name] for name in found} == found


# A tenth of the pods is timed plugin by plugin: there may be none among so few.
SOMETIMES: Final = {"scheduler_plugin_execution_duration_seconds", "scheduler_queueing_hint_execution_duration_seconds"}


def test_metrics_count_what_happened(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, election: Object, servers: Servers
) -> None:
    fake_nodes.create(1, labels={"for": NAME})
    fake_nodes.create(1)
    scheduler = leading(start_kubewasp, election)
    schedule_a_few(cluster, NAME)
    scheduled = 'scheduler_schedule_attempts_total{profile="kubewasp",result="scheduled"}'
    wait_until(lambda: value(scheduler.get("/metrics"), scheduled) == 32, SOON, "all binds to be counted")
    text = scheduler.get("/metrics")
    host = f"127.0.0.1:{servers.api.port}"
    assert value(text, 'scheduler_pending_pods{queue="unschedulable"}') == 1
    assert value(text, 'scheduler_pending_pods{queue="gated"}') == 1
    assert value(text, "scheduler_preemption_victims_sum") == 1
    assert value(text, 'leader_election_master_status{name="kubewasp"}') == 1
    assert value(text, f'rest_client_requests_total{{code="201",host="{host}",method="POST"}}') >= 32
    assert value(text, f'rest_client_request_duration_seconds_count{{host="{host}",verb="POST"}}') >= 32
    assert value(text, f'rest_client_rate_limiter_duration_seconds_count{{host="{host}",verb="PATCH"}}') >= 1
    assert value(text, f'rest_client_response_size_bytes_sum{{host="{host}",verb="GET"}}') > 0
    assert value(text, 'kubewasp_reflector_lists_total{resource="pods"}') == 1
    assert value(text, 'kubewasp_reflector_watches_total{resource="nodes"}') == 1
    assert value(text, 'kubewasp_reflector_restarts_total{resource="nodes"}') == 0
    assert value(text, 'kubewasp_reflector_events_total{resource="pods"}') >= 64


def value(text: str, series: str) -> float:
    """Labels are to be given in the order of their names."""
    for name, labels, number in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        pairs = ",".join(sorted(f'{key}="{one}"' for key, one in re.findall(r'(\w+)="([^"]*)"', labels)))
        if (f"{name}{{{pairs}}}" if pairs else name) == series:
            return float(number)
    raise AssertionError(f"no {series} in\n{text}")


CHECK: Final = re.compile(r"^\[\+\]([\w-]+) ok$", re.MULTILINE)


def test_health_has_the_checks_of_kube_scheduler(
    cluster: Cluster, start_kubewasp: StartKubewasp, start_kube_scheduler: StartKubeScheduler, election: Object
) -> None:
    scheduler = leading(start_kubewasp, election)
    theirs = start_kube_scheduler(config={"leaderElection": {**election, "resourceName": "kube-scheduler"}})
    for endpoint in ("healthz", "livez", "readyz"):
        assert scheduler.get(f"/{endpoint}") == "ok"
        told, reference = scheduler.get(f"/{endpoint}?verbose"), _answer(theirs, f"/{endpoint}?verbose")
        names, wanted = CHECK.findall(told), CHECK.findall(reference)
        assert set(names) == {*wanted, "ping", "scheduler"}
        assert told == "".join(f"[+]{name} ok\n" for name in names) + f"{endpoint} check passed\n"
        assert reference == "".join(f"[+]{name} ok\n" for name in wanted) + f"{endpoint} check passed\n"


def _answer(scheduler: KubeScheduler, path: str) -> str:
    return scheduler.probe.request("GET", path).decode()


def test_a_standby_is_ready_and_healthy(cluster: Cluster, start_kubewasp: StartKubewasp, election: Object) -> None:
    leading(start_kubewasp, election)
    standby = start_kubewasp(config={"leaderElection": {**election, "resourceName": NAME}})
    assert [standby.get(f"/{endpoint}") for endpoint in ("healthz", "livez", "readyz")] == ["ok"] * 3
    assert value(standby.get("/metrics"), 'leader_election_master_status{name="kubewasp"}') == 0


def test_it_is_not_ready_before_it_knows_the_cluster_but_alive(cluster: Cluster, start_kubewasp: StartKubewasp) -> None:
    cluster.allow("alice", [rule for rule in cluster_rules() if "statefulsets" not in rule["resources"]])

    class NotReady(Kubewasp):
        def ready(self) -> bool:
            return self.healthy

    scheduler = start_kubewasp(make=NotReady, user="alice")
    assert scheduler.get("/livez") == "ok"
    with pytest.raises(urllib.error.HTTPError) as refused:
        scheduler.get("/readyz")
    with refused.value as answer:
        assert answer.status == 500
        assert "[-]sched-handler-sync failed: reason withheld\n" in answer.read().decode()


def test_configz_shows_the_configuration_as_it_takes_effect(
    cluster: Cluster, start_kubewasp: StartKubewasp, start_kube_scheduler: StartKubeScheduler
) -> None:
    config = {"podMaxBackoffSeconds": 7}
    scheduler = start_kubewasp(config=config, profiles=[profile("one"), profile("two", percentageOfNodesToScore=50)])
    shown = json.loads(scheduler.get("/configz"))["componentconfig"]
    reference = json.loads(_answer(start_kube_scheduler(config=config), "/configz"))["componentconfig"]
    assert reference.keys() <= shown.keys()
    same = ("apiVersion", "kind", "podMaxBackoffSeconds", "podInitialBackoffSeconds", "parallelism")
    assert {name: shown[name] for name in same} == {name: reference[name] for name in same}
    assert [found["schedulerName"] for found in shown["profiles"]] == ["one", "two"]
    names = [plugin["name"] for plugin in shown["profiles"][0]["plugins"]["filter"]["enabled"]]
    assert {"NodeResourcesFit", "TaintToleration"} <= set(names)


# ---------------------------------------------------------------------- logs


TEXT_LINE: Final = re.compile(r'[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.py:\d+\] "(?:[^"\\]|\\.)*"( [\w.]+=\S.*)?')


def test_text_lines_are_klogs_and_tell_of_each_pod(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp
) -> None:
    (node,) = fake_nodes.create(1)
    scheduler = start_kubewasp(flags=["-v", "2"])
    cluster.create(ours("small"))
    wait_node(cluster, "small")
    cluster.create(ours("too-big", cpu="100"))
    message = wait_unschedulable(cluster, "too-big")["message"]
    bound = f'] "Successfully bound pod to node" pod="{cluster.namespace}/small" node="{node}"\n'
    unable = f'] "Unable to schedule pod; no fit; waiting" pod="{cluster.namespace}/too-big" err="{message}"\n'
    for text in (bound, unable):
        wait_until(lambda: text in scheduler.log_text, SOON, text, scheduler.log_tail)  # noqa: B023 called at once
    assert [line for line in scheduler.log_text.splitlines() if not TEXT_LINE.fullmatch(line)] == []


def test_json_lines_can_be_parsed(cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp) -> None:
    (node,) = fake_nodes.create(1)
    scheduler = start_kubewasp(flags=["--logging-format", "json", "-v", "2"])
    cluster.create(ours("small"))
    wait_node(cluster, "small")
    cluster.create(ours("too-big", cpu="100"))
    wait_unschedulable(cluster, "too-big")
    wait_until(lambda: "Unable to schedule pod" in scheduler.log_text, SOON, "a line", scheduler.log_tail)
    scheduler.signal(signal.SIGTERM)
    assert scheduler.wait_ended() == 0
    lines = [json.loads(line) for line in scheduler.log_text.splitlines()]
    assert all({"ts", "level", "caller", "msg"} <= line.keys() for line in lines)
    (bound,) = [line for line in lines if line["msg"] == "Successfully bound pod to node"]
    assert (bound["pod"], bound["node"], bound["v"]) == (f"{cluster.namespace}/small", node, 2)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_secret_is_logged_however_much_is(
    cluster: Cluster, fake_nodes: FakeNodes, start_kubewasp: StartKubewasp, servers: Servers, log_format: str
) -> None:
    """The token of a user who is refused all the time, and the key of one who is not."""
    fake_nodes.create(1)
    flags = ["-v", "10", "--logging-format", log_format]
    key = servers.api.users["admin"].certificate
    assert key is not None
    content = yaml.safe_load(servers.api.kubeconfig().read_text())
    inline = {"client-certificate-data": _encoded(key.certificate), "client-key-data": _encoded(key.key)}
    content["users"][0]["user"] = inline
    kubeconfig = servers.api.folder / "inline.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(content))
    scheduler = start_kubewasp(flags=flags, config={"clientConnection": {"kubeconfig": str(kubeconfig)}})
    cluster.create(ours("small"))
    wait_node(cluster, "small")
    refused = start_kubewasp(make=_Refused, flags=flags, user="nobody")
    told = scheduler.log_text + refused.log_text + scheduler.get("/configz") + scheduler.get("/metrics")
    body = key.key.read_text().split("\n")[1]
    assert body not in told
    assert inline["client-key-data"][:60] not in told
    assert servers.api.users["nobody"].token not in told
    assert "PRIVATE KEY" not in told


class _Refused(Kubewasp):
    def ready(self) -> bool:
        return self.log_text.count("RBAC must allow") >= 20


def _encoded(file: Path) -> str:
    return b64encode(file.read_bytes()).decode()
