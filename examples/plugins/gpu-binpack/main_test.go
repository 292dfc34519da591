package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/kubewasptest"
)

const nvidia, amd = "nvidia.com/gpu", "amd.com/gpu"

// gpuNodes are a node with 8 GPUs of which 4 are in use, one with 2 of which 1 is, and one without.
func gpuNodes() *kubewasptest.Cluster {
	cluster := kubewasptest.NewCluster(
		kubewasptest.Node{Name: "large", Allocatable: kubewasptest.Resources{nvidia: "8"}},
		kubewasptest.Node{Name: "small", Allocatable: kubewasptest.Resources{nvidia: "2"}},
		kubewasptest.Node{Name: "plain"},
	)
	cluster.AddPod(kubewasptest.Pod{Name: "train", NodeName: "large", Requests: kubewasptest.Resources{nvidia: "4"}})
	cluster.AddPod(kubewasptest.Pod{Name: "notebook", NodeName: "small", Requests: kubewasptest.Resources{nvidia: "1"}})
	return cluster
}

func needs(resource, amount string) kubewasptest.Pod {
	return kubewasptest.Pod{Name: "pod", Requests: kubewasptest.Resources{resource: amount}}
}

func TestTheNodeThatIsFullestAfterwardsIsTheBest(t *testing.T) {
	plugin := kubewasptest.Load(t, gpuNodes(), New, "")

	scores := plugin.Cycle(needs(nvidia, "1")).Scores("large", "small")

	if want := map[string]int64{"large": 62, "small": 100}; !maps.Equal(scores, want) {
		t.Errorf("the scores are %v, want %v", scores, want)
	}
}

func TestPodsWithoutGPUsPreferNodesWithoutGPUs(t *testing.T) {
	plugin := kubewasptest.Load(t, gpuNodes(), New, "")

	result := plugin.Schedule(kubewasptest.Pod{Name: "web"})

	if result.Node != "plain" || len(result.Rejected) > 0 {
		t.Errorf("web is on %q, want plain; rejected: %v", result.Node, result.Rejected)
	}
	if want := map[string]int64{"large": 0, "small": 0, "plain": 100}; !maps.Equal(result.Scores, want) {
		t.Errorf("the scores are %v, want %v", result.Scores, want)
	}
}

func TestSeveralKindsOfGPUsCountByTheirWeights(t *testing.T) {
	cluster := kubewasptest.NewCluster(
		kubewasptest.Node{Name: "a", Allocatable: kubewasptest.Resources{nvidia: "1", amd: "4"}},
		kubewasptest.Node{Name: "b", Allocatable: kubewasptest.Resources{nvidia: "4", amd: "1"}},
	)
	plugin := kubewasptest.Load(t, cluster, New, `{"resources": {"nvidia.com/gpu": 3, "amd.com/gpu": 1}}`)
	both := kubewasptest.Pod{Name: "both", Requests: kubewasptest.Resources{nvidia: "1", amd: "1"}}

	scores := plugin.Cycle(both).Scores()

	// a: 3 × 100 % and 1 × 25 %; b: 3 × 25 % and 1 × 100 %
	if want := map[string]int64{"a": 81, "b": 43}; !maps.Equal(scores, want) {
		t.Errorf("the scores are %v, want %v", scores, want)
	}
	if scores := plugin.Cycle(needs(amd, "1")).Scores(); scores["a"] != 25 || scores["b"] != 100 {
		t.Errorf("for a pod that needs amd.com/gpu alone, the scores are %v", scores)
	}
}

func TestDedicatedNodesAreForPodsThatNeedGPUs(t *testing.T) {
	plugin := kubewasptest.Load(t, gpuNodes(), New, `{"dedicated": true, "exempt": ["monitoring"]}`)
	daemon := []kubewasp.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: true}}
	closed := []string{"large", "small"}
	tests := []struct {
		pod    kubewasptest.Pod
		closed []string
	}{
		{kubewasptest.Pod{Name: "web"}, closed},
		{kubewasptest.Pod{Name: "dns", Namespace: "kube-system"}, closed}, // the configuration has another list
		{kubewasptest.Pod{Name: "prober", Namespace: "monitoring"}, nil},
		{kubewasptest.Pod{Name: "agent", OwnerReferences: daemon}, nil},
		{needs(nvidia, "1"), nil},
	}
	for _, test := range tests {
		rejected := slices.Sorted(maps.Keys(plugin.Schedule(test.pod).Rejected))
		if !slices.Equal(rejected, test.closed) {
			t.Errorf("%s: rejected are %v, want %v", test.pod.Name, rejected, test.closed)
		}
	}
}

func TestABadConfigurationIsRefused(t *testing.T) {
	tests := map[string]string{
		`{"resources": {}}`:                     "at least one resource",
		`{"resources": {"nvidia.com/gpu": 0}}`:  `the weight of "nvidia.com/gpu" must be from 1 to 1000`,
		`{"resources": {"": 1}}`:                `the weight of ""`,
		`{"resources": ["nvidia.com/gpu"]}`:     "resources: expected an object, got a list",
		`{"resource": {"nvidia.com/gpu": 1}}`:   `unknown field "resource"`,
		`{"resources": {"nvidia.com/gpu": 1}}]`: "more than one value",
	}
	for config, want := range tests {
		err := kubewasptest.LoadError(t, gpuNodes(), New, config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", config, err, want)
		}
	}
}
