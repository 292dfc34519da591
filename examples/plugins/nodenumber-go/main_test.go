package main

import (
	"maps"
	"strings"
	"testing"

	"kubewasp.dev/sdk/kubewasptest"
)

type scores map[string]int64

func nodes() *kubewasptest.Cluster {
	return kubewasptest.NewCluster(
		kubewasptest.Node{Name: "node-1"},
		kubewasptest.Node{Name: "node-12"},
		kubewasptest.Node{Name: "node-3"},
		kubewasptest.Node{Name: "spare"},
	)
}

func TestScores(t *testing.T) {
	tests := []struct {
		name, pod, config string
		want              scores
	}{
		{"the node with the pod's number", "web-3", "", scores{"node-1": 0, "node-12": 0, "node-3": 10, "spare": 0}},
		{"only the last digit counts", "web-42", "", scores{"node-1": 0, "node-12": 10, "node-3": 0, "spare": 0}},
		{"reverse", "web-3", `{"reverse": true}`, scores{"node-1": 10, "node-12": 10, "node-3": 0, "spare": 0}},
		{"a pod without a number", "web-3a", "", scores{"node-1": 0, "node-12": 0, "node-3": 0, "spare": 0}},
		{"such a pod, reverse", "web", `{"reverse": true}`, scores{"node-1": 0, "node-12": 0, "node-3": 0, "spare": 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plugin := kubewasptest.Load(t, nodes(), New, test.config)

			result := plugin.Schedule(kubewasptest.Pod{Name: test.pod})

			if !maps.Equal(result.Scores, test.want) {
				t.Errorf("the scores are %v, want %v", result.Scores, test.want)
			}
		})
	}
}

func TestAReservedNumberIsClosedToEverybody(t *testing.T) {
	plugin := kubewasptest.Load(t, nodes(), New, `{"reserved": 3}`)

	result := plugin.Schedule(kubewasptest.Pod{Name: "web-3"})

	if len(result.Rejected) != 1 || result.Rejected["node-3"].Reason != "node number 3 is reserved" {
		t.Errorf("rejected are %v, want node-3", result.Rejected)
	}
}

func TestPodsWithTheSameDigitHaveTheSameSignature(t *testing.T) {
	plugin := kubewasptest.Load(t, nodes(), New, "")
	signature := func(name string) uint64 { return plugin.Signature(kubewasptest.Pod{Name: name}) }

	if signature("web-3") != signature("db-13") {
		t.Error("web-3 and db-13 have different signatures")
	}
	if signature("web-3") == signature("web-30") || signature("web-0") == signature("web") {
		t.Error("pods with different digits have the same signature")
	}
}

func TestABadConfigurationIsRefused(t *testing.T) {
	tests := map[string]string{
		`{"reserved": 10}`:  "reserved must be a digit, 0 to 9, not 10",
		`{"reserved": -1}`:  "reserved must be a digit, 0 to 9, not -1",
		`{"reverse": 1}`:    "reverse: expected true or false, got a number",
		`{"revers": false}`: `unknown field "revers"`,
		`{`:                 "the JSON is cut off",
	}
	for config, want := range tests {
		err := kubewasptest.LoadError(t, nodes(), New, config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", config, err, want)
		}
	}
}
