"""Package core of the Go SDK: every field of Pod and Node, at no cost for guests that do not use it."""

from pathlib import Path

from kubewasp.k8s.codec import encode
from kubewasp.k8s.wire_table import messages
from kubewasp.projects import go
from tools import go_objects

MOD = "module guest\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n"
GUEST = """package main

import (
	%s
	kubewasp "kubewasp.dev/sdk"
)

type plugin struct{}

func (plugin) Filter(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) kubewasp.Status {
	if %s {
		return kubewasp.Unschedulable("host network")
	}
	return kubewasp.Success()
}

func init() { kubewasp.Register(func(*kubewasp.Handle) (plugin, error) { return plugin{}, nil }) }

func main() {}
"""
POD = {
    "metadata": {"name": "web", "uid": "u", "annotations": {"a": "1"}, "creationTimestamp": "2026-01-05T12:00:00Z"},
    "spec": {
        "hostNetwork": True,
        "nodeSelector": {"disk": "ssd"},
        "securityContext": {"supplementalGroups": [1, 70000], "runAsUser": 0},
        "volumes": [{"name": "v", "hostPath": {"path": "/data"}}, {"name": "e", "emptyDir": {}}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "args": ["x", "y"],
                "resources": {"limits": {"cpu": "1500m"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 80}},
            }
        ],
    },
    "status": {"phase": "Pending"},
}
NODE = {"metadata": {"name": "n"}, "status": {"nodeInfo": {"osImage": "Linux", "kubeletVersion": "v1.36.0"}}}
TEST = """package main

import (
	"fmt"
	"os"
	"testing"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/core"
)

func read(t *testing.T, path string) kubewasp.Message {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return kubewasp.Message(content)
}

func TestFields(t *testing.T) {
	pod := core.PodOf(kubewasp.NewPod(read(t, "pod.pb")))
	node := core.Node(read(t, "node.pb"))
	meta, spec := pod.Metadata(), pod.Spec()
	security, volumes, container := spec.SecurityContext(), spec.Volumes(), spec.Containers()[0]
	for _, test := range []struct{ got, want any }{
		{meta.UID(), "u"},
		{meta.Annotations().Get("a"), "1"},
		{meta.CreationTimestamp().Year(), 2026},
		{spec.NodeSelector().Get("disk"), "ssd"},
		{spec.HostNetwork(), true},
		{fmt.Sprint(security.SupplementalGroups()), "[1 70000]"},
		{security.HasRunAsUser(), true},
		{security.HasRunAsGroup(), false},
		{volumes[0].VolumeSource().HostPath().Path(), "/data"},
		{volumes[0].VolumeSource().HasEmptyDir(), false},
		{volumes[1].VolumeSource().HasEmptyDir(), true},
		{fmt.Sprint(container.Args()), "[x y]"},
		{container.Resources().Limits().Get("cpu").MilliValue(), int64(1500)},
		{container.LivenessProbe().Handler().HTTPGet().Port().String(), "http"},
		{container.ReadinessProbe().Handler().TCPSocket().Port().String(), "80"},
		{container.LivenessProbe().PeriodSeconds(), int32(5)},
		{pod.Status().Phase(), "Pending"},
		{node.Status().NodeInfo().OSImage(), "Linux"},
		{node.Status().NodeInfo().KubeletVersion(), "v1.36.0"},
	} {
		if test.got != test.want {
			t.Errorf("got %v, want %v", test.got, test.want)
		}
	}
}
"""


def test_the_generated_file_is_that_of_the_wire_table() -> None:
    assert go_objects.formatted(go_objects.source()) == go_objects.TARGET.read_text("utf-8"), (
        "run python -m tools.go_objects"
    )


def test_every_field_of_pod_and_node_has_a_method() -> None:
    text = go_objects.TARGET.read_text("utf-8")
    assert len(go_objects.reachable()) > 140
    for message in go_objects.reachable():
        for field in messages()[message]:
            assert f"func (m {go_objects.go_type(message)}) {go_objects.go_name(field.name)}() " in text


def test_fields_are_decoded(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(MOD)
    (tmp_path / "main.go").write_text("package main\n\nfunc main() {}\n")
    (tmp_path / "main_test.go").write_text(TEST)
    (tmp_path / "pod.pb").write_bytes(encode("Pod", POD))
    (tmp_path / "node.pb").write_bytes(encode("Node", NODE))
    assert [(result.name, result.failure) for result in go.test(tmp_path)] == [("TestFields", "")]


def built(folder: Path, imports: str, condition: str) -> bytes:
    folder.mkdir()
    (folder / "go.mod").write_text(MOD)
    (folder / "main.go").write_text(GUEST % (imports, condition))
    go.build(folder, folder / "guest.wasm")
    return (folder / "guest.wasm").read_bytes()


def test_what_a_guest_does_not_use_costs_no_bytes(tmp_path: Path) -> None:
    by_number = built(tmp_path / "number", "", "pod.Proto().Sub(2).Bool(11)")
    typed = built(tmp_path / "typed", '"kubewasp.dev/sdk/core"', "core.PodOf(pod).Spec().HostNetwork()")
    # 3,700 lines of methods are there for one that is called.
    assert len(typed) - len(by_number) < 2000
    assert b"core.Volume" not in typed
    assert b"imageStates" not in typed
    assert b"result.annotation" not in typed
    assert go_objects.TARGET.stat().st_size > 100_000
