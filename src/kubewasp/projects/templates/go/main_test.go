package main

import (
	"maps"
	"testing"

	"kubewasp.dev/sdk/kubewasptest"
)

func disks() *kubewasptest.Cluster {
	return kubewasptest.NewCluster(
		kubewasptest.Node{Name: "nvme-1", Labels: map[string]string{"disktype": "nvme"}},
		kubewasptest.Node{Name: "ssd-1", Labels: map[string]string{"disktype": "ssd"}},
		kubewasptest.Node{Name: "plain-1"},
	)
}

func TestTheBestDiskIsPreferred(t *testing.T) {
	plugin := kubewasptest.Load(t, disks(), New, "")

	result := plugin.Schedule(kubewasptest.Pod{Name: "web"})

	if result.Node != "nvme-1" {
		t.Errorf("web is on %q, want nvme-1", result.Node)
	}
	want := map[string]int64{"nvme-1": 100, "ssd-1": 50, "plain-1": 0}
	if !maps.Equal(result.Scores, want) {
		t.Errorf("the scores are %v, want %v", result.Scores, want)
	}
}

func TestClosedNodesTakePodsOfKubeSystemOnly(t *testing.T) {
	plugin := kubewasptest.Load(t, disks(), New, `{"closed": ["nvme"]}`)

	web := plugin.Schedule(kubewasptest.Pod{Name: "web"})
	agent := plugin.Schedule(kubewasptest.Pod{Name: "agent", Namespace: "kube-system"})

	if reason := web.Rejected["nvme-1"].Reason; reason != "nodes with disktype=nvme are closed" {
		t.Errorf("nvme-1 turned web down with %q", reason)
	}
	if web.Node != "ssd-1" || agent.Node != "nvme-1" {
		t.Errorf("web is on %q, want ssd-1; agent is on %q, want nvme-1", web.Node, agent.Node)
	}
}

func TestABadConfigurationIsRefused(t *testing.T) {
	for _, config := range []string{`{"label": ""}`, `{"lable": "disktype"}`, `{`} {
		if err := kubewasptest.LoadError(t, disks(), New, config); err == nil {
			t.Errorf("%s was taken", config)
		}
	}
}
