"""`-o json` and `-o yaml` of all commands have the same content."""

from pathlib import Path

import pytest
import yaml

from kubewasp.images.building import ImagePlan, build_image
from tests.cli.all_commands import KUBEWASP
from tests.cli.conftest import Kubewasp
from tests.guests.build import ROOT, wat
from tests.images.archives import layout
from tests.wasi.running import probe_file

SMALL = ROOT / "examples" / "clusters" / "small.yaml"
WEB = ROOT / "examples" / "http" / "web.yaml"
TRACES = ROOT / "examples" / "traces"
SWEEPS = ROOT / "examples" / "sweeps"
CALLS: dict[str, tuple[object, ...]] = {
    "explain": ("default/huge", SMALL),
    "snapshot": (SMALL,),
    "compare": ("default", "same=default", SMALL),
    "config check": ("FILE",),
    "extender config": ("--plugin", wat("filter")),
    "http check": ("--config", WEB),
    "http routes": ("--config", WEB),
    "plugin inspect": (wat("filter"),),
    "plugin call": (wat("filter"), "filter"),
    "plugin bench": (wat("filter"), "--nodes", "2", "--pods", "2"),
    "wasi inspect": (probe_file(),),
    "image build": (probe_file(), "-t", "oci:FILE-images:new"),
    "image inspect": ("oci:FILE-images:probe",),
    "version": (),
    "replay": (ROOT / "examples" / "recordings" / "churn",),
    "trace run": (TRACES / "pods.csv", "--nodes", TRACES / "nodes.csv"),
    "trace shapes": (TRACES / "pods.csv",),
    "what-if drain": ("node-1", "-f", SMALL),
    "what-if remove": ("node-1", "-f", SMALL),
    "what-if add": ("--like", "node-1", "-f", SMALL),
    "what-if scale": ("deploy/web=9", "-f", SMALL),
    "what-if how-many": ("deploy/web", "-f", SMALL),
    "what-if smallest": ("--from", SMALL.parent / "pools.yaml", "-f", SMALL.parent / "shop" / "workloads.yaml"),
    "what-if upgrade": ("-f", SMALL),
    "sweep": (SWEEPS / "packing.yaml", "--out", "FILE-sweep"),
    "tune": (SWEEPS / "fewer-nodes.yaml", "--out", "FILE-tuning", "--trials", "1"),
}
# rollout needs a scheduler (test_rollout.py);
# simulate prints pods as YAML; build and test need a compiler and print as inspect does; keys, signatures and samples
# of a profile are new each time.
OTHERS = {
    "simulate",
    "plugin build",
    "plugin test",
    "plugin profile",
    "plugin keygen",
    "plugin sign",
    "plugin verify",
    *(f"rollout {action}" for action in ("status", "promote", "abort", "reload")),
}
# With a registry: tests/cli/test_plugin_registry.py.
WITH_REGISTRY = {
    f"plugin {name}" for name in ("push", "pull", "tag", "digest", "annotate", "info", "save", "load", "ls", "rm")
}
# Measured anew in each run.
TIMES = ("_ms", "_us", "per_node", "speedup", "from_cache", "duration", "timing", "doneBefore")


def without_times(value: object) -> object:
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if not any(time in name for time in TIMES)}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def test_every_command_with_a_format_is_in_the_table() -> None:
    with_format = {" ".join(found.words) for found in KUBEWASP if "--output" in found.options}
    assert with_format == CALLS.keys() | OTHERS | WITH_REGISTRY


@pytest.mark.parametrize("command", CALLS)
def test_yaml_has_the_content_of_json(command: str, kubewasp: Kubewasp, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", encoding="utf-8")
    layout(tmp_path / "scheduler.yaml-images", build_image(ImagePlan(probe_file().read_bytes(), "probe.wasm")), "probe")
    arguments = [str(each).replace("FILE", str(file)) for each in CALLS[command]]
    as_json = kubewasp(*command.split(), *arguments, "-o", "json")
    as_yaml = kubewasp(*command.split(), *arguments, "-o", "yaml")
    assert (as_json.code, as_yaml.code) == (0, 0), as_yaml.err
    assert without_times(yaml.safe_load(as_yaml.out)) == without_times(as_json.json)
