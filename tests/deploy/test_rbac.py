"""Minimal rights of the role: exactly the scheduler's requests."""

from pathlib import Path

import pytest
import yaml

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.console.kubernetes_authority import PATH
from kubewasp.live.cluster_lists import LISTED
from kubewasp.live.cluster_watch import WATCHED
from tests.deploy.manifests import (
    BASE,
    CHART,
    CONSOLE,
    LEASE_ROLE,
    ONLY_SCHEDULER,
    cluster_rules,
    console_rules,
    lease_rules,
    one,
    resources,
    snapshot_rules,
)
from tests.deploy.rbac import allows, triples

# Beside the lists and watches: kubewasp.apiserver.writes and kubewasp.apiserver.lease.
WRITES = {
    ("get", "", "pods"),  # whether a bind that was not answered was made
    ("delete", "", "pods"),
    ("create", "", "pods/binding"),
    ("patch", "", "pods/status"),
    ("update", "", "persistentvolumes"),
    ("update", "", "persistentvolumeclaims"),
    ("create", "events.k8s.io", "events"),
    ("patch", "events.k8s.io", "events"),
}
LEASE_CALLS = {(verb, "coordination.k8s.io", "leases") for verb in ("create", "get", "update")}


def test_the_cluster_role_allows_what_the_scheduler_calls_and_no_more() -> None:
    watched = {(verb, RESOURCES[name].group, name) for name in WATCHED for verb in ("list", "watch")}
    assert set(triples(cluster_rules())) == watched | WRITES


def test_the_role_of_a_snapshot_allows_its_lists_and_no_more() -> None:
    assert set(triples(snapshot_rules())) == {("list", RESOURCES[name].group, name) for name in LISTED}


def test_the_role_of_the_console_allows_reviews_and_no_more() -> None:
    assert set(triples(console_rules())) == {
        ("create", "authentication.k8s.io", "tokenreviews"),
        ("create", "authorization.k8s.io", "subjectaccessreviews"),
    }


def test_the_roles_of_viewers_and_operators_have_the_rights_that_the_console_asks_about() -> None:
    roles = resources(CONSOLE)
    for name, verbs in (("viewer", ["get"]), ("operator", ["get", "update"])):
        role = one(roles, "ClusterRole", f"kubewasp-console-{name}")
        assert role["rules"] == [{"nonResourceURLs": [PATH], "verbs": verbs}]


@pytest.mark.parametrize("kustomization", [BASE, ONLY_SCHEDULER], ids=lambda folder: folder.name)
def test_the_lease_role_allows_leader_election_and_no_more(kustomization: Path) -> None:
    assert set(triples(lease_rules(kustomization))) == LEASE_CALLS


def test_a_lease_of_another_name_is_out_of_reach() -> None:
    for verb in ("get", "update"):
        assert allows(lease_rules(), verb, "coordination.k8s.io", "leases", "kubewasp")
        assert not allows(lease_rules(), verb, "coordination.k8s.io", "leases", "kube-scheduler")
        assert not allows(lease_rules(), verb, "coordination.k8s.io", "leases")


def test_no_rule_has_a_wildcard() -> None:
    for rule in (*cluster_rules(), *console_rules(), *lease_rules(), *lease_rules(ONLY_SCHEDULER)):
        assert "*" not in str(rule)


def test_the_chart_has_the_same_rules() -> None:
    """This part of the template has no placeholders."""
    for name, rules in (("cluster-role", cluster_rules()), ("console-cluster-role", console_rules())):
        text = (CHART / "templates" / f"{name}.yaml").read_text(encoding="utf-8")
        assert yaml.safe_load(text[text.index("rules:") :].partition("{{")[0])["rules"] == rules


@pytest.mark.parametrize("kustomization", [BASE, ONLY_SCHEDULER], ids=lambda folder: folder.name)
def test_bindings_give_the_roles_to_the_service_account(kustomization: Path) -> None:
    account = one(resources(BASE), "ServiceAccount")["metadata"]["name"]
    namespace = one(resources(BASE), "Namespace")["metadata"]["name"]
    manifests = resources(kustomization)
    bindings = [item for item in manifests if item["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    assert bindings
    for binding in bindings:
        role = binding["roleRef"]
        bound = one(manifests, role["kind"], role["name"])
        assert binding["kind"] == f"{bound['kind']}Binding"
        assert binding["metadata"].get("namespace") == bound["metadata"].get("namespace")
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]


def test_the_overlay_takes_away_the_lease_role_that_it_does_not_need() -> None:
    text = (ONLY_SCHEDULER / "no-own-lease.yaml").read_text(encoding="utf-8")
    removed = list(yaml.safe_load_all(text))
    assert [(item["kind"], item["metadata"]["name"]) for item in removed] == [
        ("Role", LEASE_ROLE),
        ("RoleBinding", LEASE_ROLE),
    ]
    assert all(item["$patch"] == "delete" for item in removed)


RULES = [
    {"apiGroups": [""], "resources": ["pods", "*/status"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": ["*"], "resources": ["leases"], "verbs": ["get", "create"], "resourceNames": ["mine"]},
    {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
]


@pytest.mark.parametrize(
    ("call", "is_allowed"),
    [
        (("get", "", "pods"), True),
        (("get", "", "pods", "web"), True),
        (("delete", "", "pods"), False),
        (("get", "apps", "pods"), True),
        (("get", "", "pods/binding"), False),
        (("get", "", "nodes/status"), True),
        (("get", "", "status"), False),
        (("delete", "apps", "replicasets/scale", "web"), True),
        (("get", "coordination.k8s.io", "leases", "mine"), True),
        (("get", "coordination.k8s.io", "leases", "other"), False),
        (("create", "coordination.k8s.io", "leases"), False),
        (("get", "", "/healthz"), False),
    ],
)
def test_rules_are_read_as_the_authorizer_reads_them(call: tuple[str, ...], is_allowed: bool) -> None:
    assert allows(RULES, *call) is is_allowed
