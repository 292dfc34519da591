package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/kubewasptest"
)

// member is a pod of the gang "train", of three.
func member(name string) kubewasptest.Pod {
	return kubewasptest.Pod{
		Name:     name,
		Labels:   map[string]string{nameLabel: "train", sizeLabel: "3"},
		Requests: kubewasptest.Resources{"cpu": "1"},
	}
}

func with(pod kubewasptest.Pod, change func(*kubewasptest.Pod)) kubewasptest.Pod {
	change(&pod)
	return pod
}

func inNamespace(namespace string) func(*kubewasptest.Pod) {
	return func(pod *kubewasptest.Pod) { pod.Namespace = namespace }
}

func onNode(node string) func(*kubewasptest.Pod) {
	return func(pod *kubewasptest.Pod) { pod.NodeName = node }
}

// beingDeleted sets the deletion timestamp of a pod, like the API server.
func beingDeleted(pod *kubewasptest.Pod) { pod.DeletionTimestamp = time.Unix(1, 0) }

func oneNode() *kubewasptest.Cluster {
	return kubewasptest.NewCluster(kubewasptest.Node{Name: "a", Allocatable: kubewasptest.Resources{"cpu": "2"}})
}

func TestAGangGoesWhenItIsComplete(t *testing.T) {
	plugin := kubewasptest.Load(t, oneNode(), New, `{"timeout": "2m"}`)

	first, second := plugin.Schedule(member("train-0")), plugin.Schedule(member("train-1"))

	if !first.Waiting || !second.Waiting || first.Timeout != 2*time.Minute {
		t.Fatalf("two of three: %+v, %+v; want them to wait for 2 minutes", first, second)
	}

	third := plugin.Schedule(member("train-2"))

	for _, result := range []*kubewasptest.Result{first, second, third} {
		if result.Node != "a" || result.Waiting {
			t.Errorf("three of three: %+v, want a", result)
		}
	}
}

func TestOtherGangsAndPodsWithoutOneDoNotCount(t *testing.T) {
	plugin := kubewasptest.Load(t, oneNode(), New, "")
	plugin.Schedule(member("train-0"))
	plugin.Schedule(member("train-1"))
	plugin.Schedule(with(member("train-2"), inNamespace("elsewhere")))

	single := plugin.Schedule(kubewasptest.Pod{Name: "web"})

	if single.Node != "a" || single.Waiting {
		t.Errorf("a pod without a gang: %+v", single)
	}
	if waiting := plugin.Waiting(); !slices.Equal(waiting, []string{"train-0", "train-1", "train-2"}) {
		t.Errorf("waiting are %v", waiting)
	}
}

func TestPodsThatRunAlreadyCount(t *testing.T) {
	cluster := oneNode()
	cluster.AddPod(with(member("train-0"), onNode("a")))
	cluster.AddPod(with(with(member("train-1"), onNode("a")), beingDeleted))
	plugin := kubewasptest.Load(t, cluster, New, "")

	first, second := plugin.Schedule(member("train-2")), plugin.Schedule(member("train-3"))

	if first.Node != "a" || second.Node != "a" || len(plugin.Waiting()) > 0 {
		t.Errorf("train-2: %+v, train-3: %+v; still waiting: %v", first, second, plugin.Waiting())
	}
}

func TestIfTheTimeOfOneIsUpAllAreTurnedDown(t *testing.T) {
	cluster := oneNode()
	plugin := kubewasptest.Load(t, cluster, New, `{"timeout": "10m"}`)
	first := plugin.Schedule(with(member("train-0"), func(pod *kubewasptest.Pod) {
		pod.Annotations = map[string]string{timeoutAnnotation: "30s"}
	}))
	second := plugin.Schedule(member("train-1"))
	other := plugin.Schedule(with(member("train-0"), inNamespace("elsewhere")))
	cluster.Advance(30 * time.Second)

	waiting := plugin.Waiting()

	if first.Node != "" || second.Node != "" || !other.Waiting || len(waiting) != 1 {
		t.Errorf("train-0: %+v, train-1: %+v, another gang: %+v", first, second, other)
	}
	if want := "gang train of 3 cannot go without train-0"; second.Status.Reason != want {
		t.Errorf("train-1 was told %q, want %q", second.Status.Reason, want)
	}
	if pods := cluster.PodsOn("a"); !slices.Equal(pods, []string{"train-0"}) { // that of the other gang
		t.Errorf("on the node are %v", pods)
	}
}

func TestIfThereIsNoNodeForOneTheOthersAreTurnedDown(t *testing.T) {
	plugin := kubewasptest.Load(t, oneNode(), New, "")
	first := plugin.Schedule(member("train-0"))
	second := plugin.Cycle(member("train-1"))

	_, status := second.PostFilter(map[string]kubewasp.Code{"a": kubewasp.CodeUnschedulable})

	if waiting := plugin.Waiting(); len(waiting) > 0 || first.Node != "" || !status.IsRejected() {
		t.Errorf("waiting are %v, train-0: %+v, PostFilter: %v", waiting, first, status)
	}
}

func TestWithoutRoomForTheGangNoPodWaits(t *testing.T) {
	cluster := oneNode()
	plugin := kubewasptest.Load(t, cluster, New, `{"checkRoom": ["cpu", "memory"]}`)

	_, status := plugin.PreFilter(member("train-0"))

	want := kubewasp.Unschedulable("gang train of 3 needs room for 3 more pods, but there is room for 2")
	if status != want {
		t.Errorf("PreFilter: %v, want %v", status, want)
	}

	cluster.SetNode(kubewasptest.Node{Name: "b", Allocatable: kubewasptest.Resources{"cpu": "1500m"}})

	if result := plugin.Schedule(member("train-0")); !result.Waiting {
		t.Errorf("with another node: %+v", result)
	}
}

func TestLabelsThatCannotBeMeant(t *testing.T) {
	plugin := kubewasptest.Load(t, oneNode(), New, "")
	tests := []struct{ size, timeout, want string }{
		{"3", "5m", ""},
		{"", "5m", `label kubewasp.dev/gang-size must be a number from 1 on, not ""`},
		{"0", "5m", `not "0"`},
		{"three", "5m", `not "three"`},
		{"3", "soon", `annotation kubewasp.dev/gang-timeout: expected a time such as 30s or 5m, at most 15m, not "soon"`},
		{"3", "16m", `not "16m"`},
		{"3", "-1s", `not "-1s"`},
	}
	for _, test := range tests {
		pod := kubewasptest.Pod{
			Name:        "train-0",
			Labels:      map[string]string{nameLabel: "train", sizeLabel: test.size},
			Annotations: map[string]string{timeoutAnnotation: test.timeout},
		}
		status := plugin.PreEnqueue(pod)
		if status.IsSuccess() != (test.want == "") || !strings.Contains(status.Reason, test.want) {
			t.Errorf("size %q, timeout %q: %v, want %q", test.size, test.timeout, status, test.want)
		}
	}
	if status := plugin.PreEnqueue(kubewasptest.Pod{Name: "web"}); !status.IsSuccess() {
		t.Errorf("a pod without a gang: %v", status)
	}
}

func TestWhatMakesAPodWorthAnotherTry(t *testing.T) {
	plugin := kubewasptest.Load(t, oneNode(), New, "")
	pod, web := member("train-0"), kubewasptest.Pod{Name: "web", NodeName: "a"}
	fellow := with(member("train-1"), onNode("a"))
	tests := []struct {
		name   string
		change kubewasptest.Change
		want   kubewasp.Hint
	}{
		{"a new node", kubewasptest.NodeAdded(kubewasptest.Node{Name: "b"}), kubewasp.Queue},
		{"its own labels", kubewasptest.PodChanged(pod, pod, kubewasp.UpdatePodLabel), kubewasp.Queue},
		{"labels of another", kubewasptest.PodChanged(fellow, fellow, kubewasp.UpdatePodLabel), kubewasp.QueueSkip},
		{"another of the gang", kubewasptest.PodAdded(fellow), kubewasp.Queue},
		{"any other pod", kubewasptest.PodAdded(web), kubewasp.QueueSkip},
		{"room that another left", kubewasptest.PodDeleted(web), kubewasp.Queue},
		{"another of the gang was rejected", kubewasptest.PodDeleted(fellow), kubewasp.QueueSkip},
		{"another of the gang was deleted", kubewasptest.PodDeleted(with(fellow, beingDeleted)), kubewasp.Queue},
	}
	for _, test := range tests {
		if got := plugin.QueueingHint(pod, test.change); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestABadConfigurationIsRefused(t *testing.T) {
	tests := map[string]string{
		`{"timeout": "soon"}`:   `config: timeout: expected a time such as 30s or 5m, at most 15m, not "soon"`,
		`{"timeout": "0s"}`:     `not "0s"`,
		`{"timeout": 60}`:       "timeout: expected a text, got a number",
		`{"checkRoom": [""]}`:   "the name of a resource must not be empty",
		`{"checkRoom": "cpu"}`:  "checkRoom: expected a list, got a text",
		`{"checkroom": ["cpu"]`: "the JSON is cut off",
		`{"time-out": "1m"}`:    `unknown field "time-out"`,
	}
	for config, want := range tests {
		err := kubewasptest.LoadError(t, oneNode(), New, config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", config, err, want)
		}
	}
}
