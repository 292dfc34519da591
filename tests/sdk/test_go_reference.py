"""docs/sdk-go.md: a plugin that compiles and passes its test, and a complete reference."""

import re
import subprocess
from pathlib import Path

import pytest

from kubewasp.projects import go, toolchain

PAGE = Path(__file__).parents[2] / "docs" / "sdk-go.md"
TEXT = PAGE.read_text(encoding="utf-8")
CODE = re.findall(r"^```go\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
GPU_TEST = """package main

import (
	"testing"

	"kubewasp.dev/sdk/kubewasptest"
)

func TestEachPodGetsAGPU(t *testing.T) {
	gpus := kubewasptest.Resources{"nvidia.com/gpu": "2"}
	cluster := kubewasptest.NewCluster(kubewasptest.Node{Name: "a", Allocatable: gpus})
	plugin := kubewasptest.Load(t, cluster, New, "")
	for _, want := range []string{"0", "1", ""} {
		if got := plugin.Schedule(kubewasptest.Pod{Name: "pod-" + want}).Annotations[gpuIndex]; got != want {
			t.Errorf("index %q, want %q", got, want)
		}
	}
}
"""


def test_the_plugin_of_the_page_passes_the_test_of_the_page(tmp_path: Path) -> None:
    plugin, _, test = CODE
    imports = 'import (\n\t"testing"\n\n\t"kubewasp.dev/sdk/kubewasptest"\n)\n'
    (tmp_path / "go.mod").write_text("module page\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n")
    (tmp_path / "main.go").write_text(plugin)
    (tmp_path / "main_test.go").write_text(f"package main\n\n{imports}\n{test}")
    assert [(result.name, result.failure) for result in go.test(tmp_path)] == [("TestKeepsPodsOffOtherNodes", "")]


def test_the_annotations_of_the_page_give_each_pod_a_gpu(tmp_path: Path) -> None:
    head = """package main

import (
	"strconv"

	kubewasp "kubewasp.dev/sdk"
)

type Plugin struct {
	handle *kubewasp.Handle
	gpu    kubewasp.Resource
}

func New(handle *kubewasp.Handle) (*Plugin, error) {
	return &Plugin{handle, handle.Resource("nvidia.com/gpu")}, nil
}

func init() { kubewasp.Register(New) }

func main() {}

"""
    (tmp_path / "go.mod").write_text("module page\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n")
    (tmp_path / "main.go").write_text(head + CODE[1])
    (tmp_path / "main_test.go").write_text(GPU_TEST)
    assert [(result.name, result.failure) for result in go.test(tmp_path)] == [("TestEachPodGetsAGPU", "")]


def _documented(pattern: str) -> list[str]:
    found = go.find()
    command = [found.command, "doc", "-all", "."]
    said = subprocess.run(command, cwd=toolchain.sdk("go"), capture_output=True, text=True, check=True).stdout
    return re.findall(pattern, said, re.MULTILINE)


@pytest.mark.parametrize("name", _documented(r"^type (\w+) interface"))
def test_the_page_has_every_extension_point(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("name", _documented(r"^func \(h \*Handle\) (\w+)"))
def test_the_page_has_what_a_plugin_may_ask(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("name", _documented(r"^func \(i \*NodeInfo\) (\w+)"))
def test_the_page_has_what_a_node_tells(name: str) -> None:
    assert re.search(rf"`{name}(\(\))?`", TEXT)
