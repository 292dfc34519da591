"""Output of kustomize and Helm for deploy/: equal objects, and volumes and arguments for plugins."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.framework.config.reading import parse_config
from tests.deploy.manifests import BASE, CHART, DEPLOY, ONLY_SCHEDULER, ROOT, cluster_rules, field_paths, one
from tests.e2e.deploy.tools import Manifest, ToolError, helm, helm_template, kustomize

ONLY_SCHEDULER_VALUES = DEPLOY / "helm" / "only-scheduler.yaml"
DIGEST = "0123456789abcdef" * 4
PLUGINS = f"""
plugins:
- name: NodeNumber
  configMap: {{name: nodenumber, key: nodenumber.wat}}
  weight: 5
  args: {{guestConfig: "3", limits: {{memory: 64Mi}}}}
- name: TeamNodes
  url: https://policies.example/team-nodes.wasm
  sha256: {DIGEST}
- name: PreferLabel
  url: oci://registry.example/policies/prefer-label:v1
  args: {{imagePullPolicy: Always}}
- name: GpuBinpack
  volume: {{image: {{reference: "gpu-binpack:1.4"}}}}
  path: gpu-binpack.wasm
registries: {{pullSecret: registry-login}}
config:
  profile:
    plugins: {{score: {{disabled: [{{name: ImageLocality}}]}}}}
    pluginConfig:
    - name: InterPodAffinity
      args: {{hardPodAffinityWeight: 3}}
  extraProfiles:
  - schedulerName: batch
  extra:
    parallelism: 8
    leaderElection: {{leaseDuration: 20s}}
    registries: {{hosts: [{{host: registry.example, mirrors: [{{location: mirror.example}}]}}]}}
    trust: {{required: false}}
"""


def comparable(manifests: list[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    """Objects by kind, namespace and name, without what only one of the tools adds."""
    found = {}
    for manifest in manifests:
        if manifest["kind"] == "Namespace":
            continue  # Helm makes it with --create-namespace
        text = yaml.safe_dump(manifest)
        item = yaml.safe_load(re.sub(r"kubewasp-config-[0-9a-z]{10}\b", "kubewasp-config", text))
        if item["kind"] == "ConfigMap":
            item["data"]["config.yaml"] = yaml.safe_load(item["data"]["config.yaml"])
        for added in ("app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"):
            item["metadata"]["labels"].pop(added, None)
        if item["kind"] == "Deployment":
            annotations = item["spec"]["template"]["metadata"].pop("annotations", {})
            assert annotations.keys() <= {"checksum/config"}
        metadata = item["metadata"]
        found[item["kind"], metadata.get("namespace", ""), metadata["name"]] = item
    return found


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.yaml"
    path.write_text(PLUGINS, encoding="utf-8")
    return path


def config_of(manifests: list[Manifest]) -> Manifest:
    config: Manifest = yaml.safe_load(one(manifests, "ConfigMap")["data"]["config.yaml"])
    return config


def pod_of(manifests: list[Manifest]) -> Manifest:
    pod: Manifest = one(manifests, "Deployment")["spec"]["template"]["spec"]
    return pod


def test_the_chart_makes_what_the_base_makes() -> None:
    base, chart = comparable(kustomize(BASE)), comparable(helm_template())
    assert len(base) == 10
    assert chart == base


def test_the_chart_makes_what_the_overlay_for_the_only_scheduler_makes() -> None:
    overlay = comparable(kustomize(ONLY_SCHEDULER))
    assert comparable(helm_template("--values", ONLY_SCHEDULER_VALUES)) == overlay
    assert ("Role", "kube-system", "kubewasp-leader-election") in overlay
    assert ("Role", "kubewasp-system", "kubewasp-leader-election") not in overlay


@pytest.fixture
def with_console(tmp_path: Path) -> Path:
    """A kustomization of the base with the console."""
    shutil.copytree(DEPLOY / "kustomize", tmp_path / "kustomize")
    folder = tmp_path / "kustomize" / "with-console"
    folder.mkdir()
    settings = {"resources": ["../base"], "components": ["../components/console"]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder


CONSOLE = ("--set", "console.enabled=true,console.service.enabled=true,console.service.tlsSecret=kubewasp-console-tls")


def test_the_chart_makes_the_console_that_the_component_makes(with_console: Path) -> None:
    component, chart = comparable(kustomize(with_console)), comparable(helm_template(*CONSOLE))
    assert len(component) == 16
    assert chart == component
    pod = pod_of(helm_template(*CONSOLE))
    assert {"name": "console-tls", "secret": {"secretName": "kubewasp-console-tls"}} in pod["volumes"]


def test_a_console_for_port_forwarding_is_an_argument_and_nothing_else() -> None:
    plain, found = comparable(helm_template()), comparable(helm_template("--set", "console.enabled=true"))
    assert plain.keys() == found.keys()
    (deployment,) = (key for key in plain if key[0] == "Deployment")
    arguments = [item[deployment]["spec"]["template"]["spec"]["containers"][0]["args"] for item in (plain, found)]
    assert arguments[1] == [*arguments[0], "--console"]


def test_all_objects_are_in_the_namespace_and_labelled() -> None:
    for manifest in kustomize(BASE):
        metadata = manifest["metadata"]
        assert metadata["labels"]["app.kubernetes.io/name"] == "kubewasp"
        if manifest["kind"] not in ("Namespace", "ClusterRole", "ClusterRoleBinding"):
            assert metadata["namespace"] == "kubewasp-system"


@pytest.mark.parametrize("render", [kustomize, None], ids=["kustomize", "helm"])
def test_the_roles_arrive_as_they_were_written(render: Any) -> None:
    manifests = render(BASE) if render else helm_template()
    assert one(manifests, "ClusterRole")["rules"] == cluster_rules()


def test_another_configuration_starts_new_pods() -> None:
    annotations = [
        one(helm_template("--set", f"schedulerName={name}"), "Deployment")["spec"]["template"]["metadata"][
            "annotations"
        ]
        for name in ("kubewasp", "other")
    ]
    assert annotations[0] != annotations[1]
    (name,) = (volume["configMap"]["name"] for volume in pod_of(kustomize(BASE))["volumes"] if "configMap" in volume)
    assert name == one(kustomize(BASE), "ConfigMap")["metadata"]["name"] != "kubewasp-config"


def test_helm_lint_has_nothing_to_say(values: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, "--values", values)


def test_plugins_become_entries_of_the_configuration(values: Path) -> None:
    config = config_of(helm_template("--values", values))
    own, batch = config["profiles"]
    assert own["plugins"]["multiPoint"]["enabled"] == [
        {"name": "NodeNumber", "weight": 5},
        {"name": "TeamNodes"},
        {"name": "PreferLabel"},
        {"name": "GpuBinpack"},
    ]
    assert {entry["name"]: entry["args"] for entry in own["pluginConfig"]} == {
        "NodeNumber": {
            "guestURL": "file:///var/lib/kubewasp/plugins/NodeNumber/nodenumber.wat",
            "guestConfig": "3",
            "limits": {"memory": "64Mi"},
        },
        "TeamNodes": {"guestURL": "https://policies.example/team-nodes.wasm", "sha256": DIGEST},
        "PreferLabel": {"guestURL": "oci://registry.example/policies/prefer-label:v1", "imagePullPolicy": "Always"},
        "GpuBinpack": {"guestURL": "file:///var/lib/kubewasp/plugins/GpuBinpack/gpu-binpack.wasm"},
        "InterPodAffinity": {"hardPodAffinityWeight": 3},
    }
    assert own["plugins"]["score"] == {"disabled": [{"name": "ImageLocality"}]}
    assert batch == {"schedulerName": "batch"}
    assert config["parallelism"] == 8
    assert config["leaderElection"]["leaseDuration"] == "20s"
    assert config["leaderElection"]["resourceName"] == "kubewasp"


def test_plugins_that_are_files_are_mounted_where_the_configuration_looks(values: Path) -> None:
    pod = pod_of(helm_template("--values", values))
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    number = mounts["/var/lib/kubewasp/plugins/NodeNumber"]
    assert volumes[number["name"]]["configMap"] == {
        "name": "nodenumber",
        "items": [{"key": "nodenumber.wat", "path": "nodenumber.wat"}],
    }
    gpu = mounts["/var/lib/kubewasp/plugins/GpuBinpack"]
    assert volumes[gpu["name"]]["image"] == {"reference": "gpu-binpack:1.4"}
    assert number["readOnly"] is gpu["readOnly"] is True
    assert volumes.keys() == {mount["name"] for mount in mounts.values()}


def test_a_pull_secret_is_mounted_where_the_configuration_looks(values: Path) -> None:
    manifests = helm_template("--values", values)
    pod, config = pod_of(manifests), config_of(manifests)
    mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    mount = mounts[config["registries"]["credentialsFile"]]
    assert mount["readOnly"] is True
    assert {"name": mount["name"], "secret": {"secretName": "registry-login"}} in pod["volumes"]
    assert config["registries"]["hosts"] == [{"host": "registry.example", "mirrors": [{"location": "mirror.example"}]}]
    without = helm_template()
    assert "registries" not in config_of(without)
    assert "secret" not in {kind for volume in pod_of(without)["volumes"] for kind in volume}


def test_the_rendered_configuration_is_accepted(values: Path, tmp_path: Path) -> None:
    config = config_of(helm_template("--values", values))
    for entry in config["profiles"][0]["pluginConfig"]:
        if "guestURL" in entry["args"]:  # the real one is not here
            entry["args"] |= {"guestURL": f"file://{ROOT}/examples/guests/nodenumber.wat"}
            entry["args"].pop("sha256", None)
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [Path(sys.executable).parent / "kubewasp", "config", "check", path]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("replicas=0", "replicas"),
        ("console.enabled=true,console.service.enabled=true", "tlsSecret"),
        ("console.service.enabled=true,console.service.tlsSecret=a", "enabled"),
        ("replica=3", "replica"),
        ("image.digest=sha256:12", "digest"),
        ("plugins[0].name=A", "plugins"),
        ("plugins[0].name=A,plugins[0].url=https://policies.example/a.wasm", "sha256"),
        ("plugins[0].name=A,plugins[0].url=http://policies.example/a.wasm", "sha256"),
        ("plugins[0].name=A,plugins[0].url=file:///a.wasm,plugins[0].sha256=" + DIGEST, "url"),
        ("plugins[0].name=A,plugins[0].volume.image.reference=a", "path"),
        ("plugins[0].name=a/b,plugins[0].url=https://policies.example/a.wasm,plugins[0].sha256=" + DIGEST, "name"),
        ("config.extra.profiles[0].schedulerName=x", "extra"),
        ("config.profile.schedulerName=x", "profile"),
    ],
)
def test_wrong_values_are_refused(setting: str, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        helm_template("--set", setting)


def test_other_values_arrive() -> None:
    manifests = helm_template(
        *("--set", "image.repository=registry.example/kubewasp,image.digest=sha256:" + DIGEST),
        *("--set", "nodeSelector.disk=ssd,tolerations[0].operator=Exists,replicas=3"),
        *("--set", "extraArgs[0]=-v,extraEnv[0].name=A,extraEnv[0].value=b,bindAddress=::"),
        *("--set", "serviceMonitor.enabled=true,podDisruptionBudget.enabled=false"),
        release="team-a",
        namespace="team-a",
    )
    pod = pod_of(manifests)
    (container,) = pod["containers"]
    assert one(manifests, "Deployment")["metadata"]["name"] == "team-a-kubewasp"
    assert one(manifests, "Deployment")["spec"]["replicas"] == 3
    assert container["image"] == f"registry.example/kubewasp@sha256:{DIGEST}"
    assert container["args"][-2:] == ["--listen=[::]:10259", "-v"]
    assert {"name": "A", "value": "b"} in container["env"]
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert "PodDisruptionBudget" not in {manifest["kind"] for manifest in manifests}
    monitor, service = one(manifests, "ServiceMonitor"), one(manifests, "Service")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    assert {".subjects[0].namespace"} <= set(field_paths(one(manifests, "RoleBinding")))
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        (subject,) = one(manifests, kind)["subjects"]
        assert subject["name"] == one(manifests, "ServiceAccount")["metadata"]["name"]
        assert subject["namespace"] == "team-a"


@pytest.mark.parametrize(
    ("values_file", "text"), [(None, "schedulerName: kubewasp"), (ONLY_SCHEDULER_VALUES, "hand over")]
)
def test_the_notes_say_what_to_do(values_file: Path | None, text: str) -> None:
    options = ("--values", values_file) if values_file else ()
    said = helm("install", "kubewasp", CHART, "--dry-run=client", "--namespace", "kubewasp-system", *options)
    assert text in said[said.index("NOTES:") :]


PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
FILE = re.compile(r"^```yaml\n# (\S+/\S+|values\.yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def page_files(tmp_path: Path) -> Path:
    """A folder with the files that docs/deployment.md shows, next to deploy/."""
    for name, content in FILE.findall(PAGE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    guest = (ROOT / "examples" / "guests" / "nodenumber.wat").read_bytes()
    (tmp_path / "with-plugin" / "nodenumber.wat").write_bytes(guest)
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    return tmp_path


def test_the_page_shows_how_to_use_an_image_of_your_own(page_files: Path) -> None:
    (container,) = pod_of(kustomize(page_files / "my-scheduler"))["containers"]
    assert container["image"] == "registry.example/kubewasp:0.2.0"


def test_the_page_shows_how_to_add_the_console_with_kustomize(page_files: Path, with_console: Path) -> None:
    assert comparable(kustomize(page_files / "with-console")) == comparable(kustomize(with_console))


def test_the_page_shows_how_to_add_a_plugin_with_kustomize(page_files: Path) -> None:
    manifests = kustomize(page_files / "with-plugin")
    configs = {item["metadata"]["name"]: item["data"] for item in manifests if item["kind"] == "ConfigMap"}
    pod = pod_of(manifests)
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    content = {
        volume["name"]: configs[volume["configMap"]["name"]] for volume in pod["volumes"] if "configMap" in volume
    }
    files = {f"{mounts[name]}/{file}" for name, data in content.items() for file in data}
    config = yaml.safe_load(content["config"]["config.yaml"])
    (entry,) = config["profiles"][0]["pluginConfig"]
    assert entry["args"]["guestURL"].removeprefix("file://") in files
    assert len(files) == 2


def test_the_page_shows_how_to_add_plugins_with_helm(page_files: Path) -> None:
    config = config_of(helm_template("--values", page_files / "values.yaml"))
    assert len(config["profiles"][0]["pluginConfig"]) == 4
    assert parse_config(yaml.safe_dump(config).encode(), "values.yaml").trust is not None
    assert config["registries"]["credentialsFile"]
