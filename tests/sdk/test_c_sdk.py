"""The C SDK: its own native tests, and a plugin that uses all of it on the real host."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp import Guest
from kubewasp.framework.cluster_events import ClusterEvent
from kubewasp.framework.config.reading import read_config
from kubewasp.k8s.codec import encode
from kubewasp.projects import build_cache, c, toolchain
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.abi import ABORT, ADAPTER_IMPORTS, WASI
from kubewasp.wasm.hooks import HOOKS
from tests.guests.build import BUILT, ROOT
from tests.scheduler.building import HEAD

FOLDER = ROOT / "tests" / "sdk" / "c"
HEADER = (ROOT / "sdk" / "c" / "kubewasp.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def probe() -> Path:
    def build(target: Path) -> None:
        source = target.parent / "project"
        source.mkdir()
        (source / "main.c").write_bytes((FOLDER / "probe.c").read_bytes())
        c.build(source, target)

    sources = [*build_cache.contents(toolchain.sdk("c")), *build_cache.contents(FOLDER)]
    return build_cache.built(BUILT, "c-sdk-probe", ".wasm", [c.find().version.encode(), *sources], build)


def node(name: str, gpus: int = 0, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"zone": "east"}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "4", "pods": "10", "nvidia.com/gpu": str(gpus)}},
    }


def pod(gpus: int = 0, **annotations: str) -> dict[str, Any]:
    resources = {"requests": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "nginx", "resources": resources}]},
    }


TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
NODES = [node("small", 1), node("largest", 4), node("tainted", 4, taints=[TAINT]), node("off", unschedulable=True)]


def test_the_native_tests_of_the_sdk_pass() -> None:
    results = c.test(FOLDER)
    assert len(results) >= 10
    assert {result.name: result.failure for result in results if not result.passed} == {}


def test_filters_and_scores_see_pods_nodes_and_numbers(probe: Path) -> None:
    found = Guest.load(probe).evaluate(pod(gpus=2), NODES)
    reasons = {name: status.reason for name, status in found.rejected.items()}
    assert reasons == {
        "small": "1 of 1 GPUs are free, 2 wanted",
        "tainted": "dedicated=db:NoSchedule, 100%",
        "off": "cordoned",
    }
    assert found.rejected["tainted"].hint == "a toleration of dedicated"
    assert found.scores == {"largest": 100}
    assert any("scoring" in str(line) and "largest" in str(line) for line in found.logs)


def test_a_toleration_is_matched(probe: Path) -> None:
    tolerant = pod(gpus=2)
    tolerant["spec"]["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    assert "tainted" in Guest.load(probe).evaluate(tolerant, NODES).scores


def test_a_selection_of_nodes_is_sent(probe: Path) -> None:
    assert Guest.load(probe).evaluate(pod(only="small"), NODES).scores == {"small": 100}


def test_reserve_annotates_the_binding(probe: Path) -> None:
    guest = Guest.load(probe)
    nodes = NodeTable.of(Nodes([node("a"), node("b")]))
    with guest.cycle(encode("Pod", pod()), nodes) as cycle:
        cycle.prefilter()
        assert cycle.reserve("b").annotations == {"example.com/row": "1"}


def test_a_bad_configuration_is_a_load_error(probe: Path) -> None:
    with pytest.raises(Exception, match='config: unknown field "mots"'):
        Guest.load(probe, config='{"mots": 1}')


def test_events_are_registered(probe: Path) -> None:
    add_and_label = 1 | 8
    assert Guest.load(probe).pool.description.cluster_events == (ClusterEvent("Node", add_and_label),)


def test_the_imports_of_the_header_are_those_of_the_abi() -> None:
    """With the number of parameters and the result of each."""
    constants = dict(re.findall(r'#define (KW_\w+_) "([^"]+)"', HEADER))
    declared = re.findall(r'KW_IMPORT_\(([^,]+), "([^"]+)"\)\s*(.*?) \w+\(([^)]*)\);', HEADER)
    assert len(declared) > 40
    known = {item.key: item for item in (*ADAPTER_IMPORTS, ABORT)}
    for where, name, result, parameters in declared:
        module = constants.get(where, where.strip('"'))
        if module == WASI and name == "proc_exit":
            continue
        item = known[f"{module}.{name}"]
        count = 0 if parameters == "void" else parameters.count(",") + 1
        kind = {"int64_t": "i64", "void": ""}.get(result, "i32")
        assert (count, kind) == (len(item.parameters), item.result), name


def test_the_numbers_of_hooks_are_those_of_the_host() -> None:
    text = re.sub(r"\\\n\s*", "", re.sub(r"\s+\\\n", " \\\n", HEADER))
    forms = (
        r"\b(\d+), (\w+), (?:int32_t|int64_t|void)\b",
        r"KW_(?:NODE|END)_HOOK_\(pod, node, (\d+), (\w+)\)",
        r"KW_HOOK_EXPORT_\((\d+), (\w+), ",
    )
    numbers = {name: int(number) for form in forms for number, name in re.findall(form, text)}
    assert {name: hook.index for name, hook in HOOKS.items()} == {name: numbers.get(name) for name in HOOKS}


def test_every_function_of_the_interface_is_implemented() -> None:
    interface, implementation = HEADER.split("/* ====", 1)
    declared = set(re.findall(r"^KW_API [^;{]*?\b(kw_\w+)\(", interface, re.MULTILINE))
    defined = set(re.findall(r"^KW_API [^;]*?\b(kw_\w+)\([^;]*?\) \{", implementation, re.MULTILINE))
    assert len(declared) > 80
    assert declared - defined == set()


ROOM = {"cpu": "100", "memory": "64Gi", "pods": "110"}
QUANTITIES = st.sampled_from(["100m", "250m", "0.1", "1", "1e-1", "33m", "0"])


def container(name: str, cpu: str, **more: str) -> dict[str, Any]:
    return {"name": name, "image": "nginx", "resources": {"requests": {"cpu": cpu}}, **more}


@st.composite
def pods_with_requests(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = []
    for number in range(draw(st.integers(1, 4))):
        spec: dict[str, Any] = {
            "containers": [
                container(f"c{place}", cpu) for place, cpu in enumerate(draw(st.lists(QUANTITIES, min_size=1)))
            ]
        }
        inits = draw(st.lists(st.tuples(QUANTITIES, st.booleans()), max_size=3))
        spec["initContainers"] = [
            container(f"i{place}", cpu, **({"restartPolicy": "Always"} if sidecar else {}))
            for place, (cpu, sidecar) in enumerate(inits)
        ]
        if draw(st.booleans()):
            spec["overhead"] = {"cpu": draw(QUANTITIES)}
        made.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec})
    return made


@settings(max_examples=25)
@given(pods=pods_with_requests())
def test_requests_of_other_pods_add_up_to_those_of_the_node(pods: list[dict[str, Any]], probe: Path) -> None:
    """The probe fails to score a node whose pods' requests are not what the scheduler says."""
    args = {"guestURL": str(probe)}
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": "probe"}]}},
        "pluginConfig": [{"name": "probe", "args": args}],
    }
    cluster = EmbeddedCluster(set_up(read_config({**HEAD, "profiles": [profile]})))
    for name in ("a", "b"):
        cluster.apply({"apiVersion": "v1", "kind": "Node", **node(name), "status": {"allocatable": ROOM}})
    for manifest in pods:
        cluster.apply(manifest)
        cluster.settle()
    assert {key: cluster.why_pending(item) for key, item in cluster.pods.items() if not item.node} == {}
