"""Manifests of the kustomize base: known fields, valid references, a restricted pod."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from kubewasp import __version__
from kubewasp.console.live_console import DEFAULT_PORT as CONSOLE_PORT
from kubewasp.framework.config.model import LeaderElection as LeaderElectionConfig
from kubewasp.k8s.codec import decode_message, encode_message, message_name
from kubewasp.k8s.kinds import api_versions
from kubewasp.k8s.quantity import parse as parse_quantity
from kubewasp.live import process
from kubewasp.registry.store import STORE_BYTES
from kubewasp.server.http_server import DEFAULT_PORT
from kubewasp.wasm.compiled_cache import MAX_BYTES
from tests.deploy.manifests import BASE, CHART, CONSOLE, DEPLOY, Manifest, field_paths, one, read, resources

# Templates are no YAML before Helm has rendered them.
YAML_FILES = [path for path in sorted(DEPLOY.rglob("*.yaml")) if path.parent != CHART / "templates"]


def deployment() -> Manifest:
    return one(resources(BASE), "Deployment")["spec"]


def pod() -> Manifest:
    return deployment()["template"]["spec"]


def container() -> Manifest:
    (only,) = pod()["containers"]
    return only


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_a_file_is_yaml_without_duplicate_keys(path: Path) -> None:
    from kubewasp.k8s.yaml_documents import documents

    assert [item for item in documents(path.read_text(encoding="utf-8")) if item] == read(path)


def test_the_kustomization_lists_every_file() -> None:
    (settings,) = read(BASE / "kustomization.yaml")
    generated = [file for generator in settings["configMapGenerator"] for file in generator["files"]]
    assert {path.name for path in BASE.iterdir()} == {"kustomization.yaml", *settings["resources"], *generated}
    assert settings["namespace"] == one(resources(BASE), "Namespace")["metadata"]["name"]


@pytest.mark.parametrize("kind", ["Namespace", "Service", "PodDisruptionBudget"])
def test_every_field_of_an_object_is_known(kind: str) -> None:
    manifest = one(resources(BASE), kind)
    assert manifest["apiVersion"] in api_versions(kind)
    assert unknown_fields(message_name(manifest["apiVersion"], kind), manifest) == {".apiVersion", ".kind"}


def test_every_field_of_the_pod_is_known() -> None:
    assert unknown_fields("core.v1.PodTemplateSpec", deployment()["template"]) == set()


def unknown_fields(message: str, manifest: Manifest) -> set[str]:
    """Fields lost in a round trip through protobuf."""
    kept = decode_message(message, encode_message(message, manifest))
    return set(field_paths(manifest)) - set(field_paths(kept))


def test_a_field_that_does_not_exist_would_be_found() -> None:
    template = deployment()["template"]
    template["spec"]["containers"][0]["readinesProbe"] = {"periodSeconds": 5}
    assert unknown_fields("core.v1.PodTemplateSpec", template) == {".spec.containers[0].readinesProbe.periodSeconds"}


def test_selectors_find_the_pods() -> None:
    labels = deployment()["template"]["metadata"]["labels"]
    manifests = resources(BASE)
    terms = pod()["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selectors = [
        deployment()["selector"]["matchLabels"],
        one(manifests, "Service")["spec"]["selector"],
        one(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        *(term["podAffinityTerm"]["labelSelector"]["matchLabels"] for term in terms),
    ]
    assert len(selectors) == 5
    assert all(selector == labels for selector in selectors)


def test_names_lead_to_what_is_there() -> None:
    (settings,) = read(BASE / "kustomization.yaml")
    assert pod()["serviceAccountName"] == one(resources(BASE), "ServiceAccount")["metadata"]["name"]
    (config,) = (volume["configMap"]["name"] for volume in pod()["volumes"] if "configMap" in volume)
    assert config == settings["configMapGenerator"][0]["name"]
    assert {mount["name"] for mount in container()["volumeMounts"]} == {volume["name"] for volume in pod()["volumes"]}
    (image,) = settings["images"]
    assert (image["name"], image["newTag"]) == (container()["image"], __version__)


def test_probes_and_the_service_use_the_port_that_is_served() -> None:
    (port,) = container()["ports"]
    assert (port["name"], port["containerPort"]) == ("metrics", DEFAULT_PORT)
    probes = {name: container()[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert {(probe["port"], probe["scheme"]) for probe in probes.values()} == {("metrics", "HTTP")}
    (service_port,) = one(resources(BASE), "Service")["spec"]["ports"]
    assert (service_port["port"], service_port["targetPort"]) == (DEFAULT_PORT, "metrics")


def test_the_network_policy_admits_prometheus_to_the_served_port_of_these_pods_and_nothing_else() -> None:
    policy = one(resources(BASE), "NetworkPolicy")
    assert policy["apiVersion"] == "networking.k8s.io/v1"
    assert policy["spec"] == {
        "podSelector": {"matchLabels": deployment()["selector"]["matchLabels"]},
        "policyTypes": ["Ingress"],
        "ingress": [
            {
                "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
                "ports": [{"port": container()["ports"][0]["name"], "protocol": "TCP"}],
            }
        ],
    }


def test_two_replicas_of_which_one_may_be_away() -> None:
    assert deployment()["replicas"] == 2
    assert deployment()["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert one(resources(BASE), "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert pod()["priorityClassName"] == "system-cluster-critical"


def test_there_is_time_to_finish_what_is_under_way() -> None:
    """The scheduler's thread ends, then requests end, then the lease is released."""
    needed = 2 * process._DRAIN_SECONDS + LeaderElectionConfig().renew_deadline
    assert pod()["terminationGracePeriodSeconds"] > needed


def test_the_pod_meets_the_restricted_pod_security_standard() -> None:
    labels = one(resources(BASE), "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["securityContext"]["runAsUser"] > 0
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod().keys()
    assert all({"configMap", "emptyDir"} & volume.keys() for volume in pod()["volumes"])


def test_only_this_pod_gets_the_token() -> None:
    assert one(resources(BASE), "ServiceAccount")["automountServiceAccountToken"] is False
    assert pod()["automountServiceAccountToken"] is True


def test_the_cache_is_a_folder_that_the_scheduler_makes_itself_in_a_volume_that_can_be_written() -> None:
    """A mount point belongs to root and others may write there: compiled code in it would not be used."""
    (cache,) = (PurePosixPath(item["value"]) for item in container()["env"] if item["name"] == "KUBEWASP_CACHE_DIR")
    mounts = {mount["name"]: mount for mount in container()["volumeMounts"]}
    assert cache.parent == PurePosixPath(mounts["cache"]["mountPath"])
    assert "readOnly" not in mounts["cache"]
    assert mounts["config"]["readOnly"] is True


def test_the_volume_of_the_cache_has_room_for_all_that_is_kept() -> None:
    (volume,) = (volume for volume in pod()["volumes"] if volume["name"] == "cache")
    assert parse_quantity(volume["emptyDir"]["sizeLimit"]).value() > MAX_BYTES + STORE_BYTES


def test_resources_are_requested_and_memory_is_limited() -> None:
    resources_of_it = container()["resources"]
    assert resources_of_it["requests"].keys() == {"cpu", "memory"}
    assert resources_of_it["limits"].keys() == {"memory"}


def test_the_arguments_are_options_of_run() -> None:
    from typer.main import get_command

    from kubewasp.cli.main import app

    command, *arguments = container()["args"]
    run: Any = get_command(app).commands[command]  # type: ignore[attr-defined]
    options = {option for parameter in run.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {argument.partition("=")[0] for argument in arguments} <= options


def test_the_config_is_where_the_arguments_look_for_it() -> None:
    (config,) = (item.partition("=")[2] for item in container()["args"] if item.startswith("--config="))
    (mount,) = (item["mountPath"] for item in container()["volumeMounts"] if item["name"] == "config")
    (settings,) = read(BASE / "kustomization.yaml")
    assert config == f"{mount}/{settings['configMapGenerator'][0]['files'][0]}"


def test_chart_and_application_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == __version__


def test_the_console_component_has_the_names_and_ports_of_the_base() -> None:
    labels, manifests = deployment()["template"]["metadata"]["labels"], resources(CONSOLE)
    (settings,) = read(CONSOLE / "kustomization.yaml")
    assert {path.name for path in CONSOLE.iterdir()} == {
        "kustomization.yaml",
        *settings["resources"],
        *(patch["path"] for patch in settings["patches"]),
    }
    (target,) = (patch["target"] for patch in settings["patches"])
    assert target == {"kind": "Deployment", "name": one(resources(BASE), "Deployment")["metadata"]["name"]}
    assert one(manifests, "Service")["spec"]["selector"] == labels
    policy = one(manifests, "NetworkPolicy")["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    assert rule["ports"] == [{"port": "console", "protocol": "TCP"}]
    assert rule["from"]
    for manifest in manifests:
        for subject in manifest.get("subjects", ()):
            assert subject["name"] == pod()["serviceAccountName"]


def test_the_console_is_served_beyond_loopback_with_tls_and_for_users_of_the_cluster_only() -> None:
    changes = {change["path"]: [] for change in read(CONSOLE / "deployment.yaml")[0]}
    for change in read(CONSOLE / "deployment.yaml")[0]:
        changes[change["path"]].append(change["value"])
    container = "/spec/template/spec/containers/0"
    options = dict(argument.partition("=")[::2] for argument in changes[f"{container}/args/-"])
    assert options["--console-access"] == "kubernetes"
    assert options["--console-listen"] == f"0.0.0.0:{CONSOLE_PORT}"
    (mount,) = changes[f"{container}/volumeMounts/-"]
    assert mount["readOnly"] is True
    for option in ("--console-cert", "--console-key"):
        assert options[option].startswith(f"{mount['mountPath']}/tls.")
    (port,) = changes[f"{container}/ports/-"]
    assert (port["name"], port["containerPort"]) == ("console", CONSOLE_PORT)
    (volume,) = changes["/spec/template/spec/volumes/-"]
    assert volume["name"] == mount["name"]
