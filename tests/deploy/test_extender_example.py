"""Consistency of the files in examples/extender."""

from pathlib import Path

import yaml
from typer.testing import CliRunner

from kubewasp.cli.main import app
from kubewasp.framework.config.reading import load_config
from kubewasp.k8s.codec import message_name
from kubewasp.live import cluster_watch
from tests.deploy.manifests import ROOT, Manifest, one, read
from tests.deploy.test_manifests import unknown_fields
from tests.guests.build import EXAMPLES

EXAMPLE = ROOT / "examples" / "extender"


def manifests() -> list[Manifest]:
    return [*read(EXAMPLE / "deployment.yaml"), *read(EXAMPLE / "rbac.yaml")]


def test_every_field_is_known() -> None:
    deployment = one(manifests(), "Deployment")
    assert unknown_fields("core.v1.PodTemplateSpec", deployment["spec"]["template"]) == set()
    service = one(manifests(), "Service")
    assert unknown_fields(message_name("v1", "Service"), service) == {".apiVersion", ".kind"}


def test_names_lead_somewhere() -> None:
    template = one(manifests(), "Deployment")["spec"]["template"]
    assert one(manifests(), "Service")["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert template["spec"]["serviceAccountName"] == one(manifests(), "ServiceAccount")["metadata"]["name"]
    (subject,) = one(manifests(), "ClusterRoleBinding")["subjects"]
    account = one(manifests(), "ServiceAccount")["metadata"]
    assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])


def test_the_role_only_reads_what_is_watched() -> None:
    (rule,) = one(manifests(), "ClusterRole")["rules"]
    assert (sorted(rule["resources"]), rule["verbs"]) == (
        sorted(cluster_watch.NODES_AND_PODS),
        ["get", "list", "watch"],
    )


def test_the_options_of_the_container_exist() -> None:
    (container,) = one(manifests(), "Deployment")["spec"]["template"]["spec"]["containers"]
    command, *options = container["args"]
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    assert command == "extender"
    assert all(f"{option.partition('=')[0]} " in told for option in options)


def test_the_port_is_open_with_tls_only_and_to_kube_scheduler_only() -> None:
    deployment, policy = one(manifests(), "Deployment")["spec"], one(manifests(), "NetworkPolicy")["spec"]
    pod = deployment["template"]["spec"]
    (container,) = pod["containers"]
    options = dict(argument.split("=") for argument in container["args"] if "=" in argument)
    (mount,) = (item for item in container["volumeMounts"] if item["name"] == "tls")
    assert {str(Path(options[name]).parent) for name in ("--tls-cert", "--tls-key")} == {mount["mountPath"]}
    assert "secret" in next(volume for volume in pod["volumes"] if volume["name"] == "tls")
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    assert {probe["scheme"] for probe in probes} == {"HTTPS"}
    (entry,) = read(EXAMPLE / "kube-scheduler.yaml")[0]["extenders"]
    assert entry["urlPrefix"].startswith("https://")
    assert (policy["podSelector"], policy["policyTypes"]) == (deployment["selector"], ["Ingress"])
    assert [list(source) for rule in policy["ingress"] for source in rule["from"]] == [["ipBlock"]]
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [container["ports"][0]["name"]]


def test_the_guest_is_mounted_where_the_configuration_looks_for_it() -> None:
    config = load_config(EXAMPLE / "config.yaml")
    (settings,) = config.profiles[0].wasm.values()
    (container,) = one(manifests(), "Deployment")["spec"]["template"]["spec"]["containers"]
    folder, name = Path(settings.guest_url.removeprefix("file://")).parent, Path(settings.guest_url).name
    assert str(folder) in {mount["mountPath"] for mount in container["volumeMounts"]}
    assert (EXAMPLES / name).exists()


def test_kube_schedulers_stanza_is_the_one_that_is_printed() -> None:
    (written,) = read(EXAMPLE / "kube-scheduler.yaml")
    (entry,) = written["extenders"]
    arguments = ["--plugin", str(EXAMPLES / "nodenumber.wat"), "--url", entry["urlPrefix"], "--ignorable"]
    arguments += ["--ca", entry["tlsConfig"]["caFile"]]
    printed = CliRunner().invoke(app, ["extender", "config", *arguments])
    assert printed.exit_code == 0
    assert yaml.safe_load(printed.output)["extenders"] == [entry]
    load_config(EXAMPLE / "kube-scheduler.yaml")
