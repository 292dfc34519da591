//go:build !wasip1

package kubewasp_test

import (
	"fmt"
	"testing"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/kubewasptest"
)

// CheapNodes prefers nodes whose price, a label, is low.
type CheapNodes struct {
	Label  string `json:"label"`
	prices *kubewasp.NodeCache[int64]
}

func NewCheapNodes(handle *kubewasp.Handle) (*CheapNodes, error) {
	plugin := &CheapNodes{Label: "price"}
	if err := handle.DecodeConfig(plugin); err != nil {
		return nil, err
	}
	plugin.prices = kubewasp.NewNodeCache(func(node *kubewasp.NodeInfo) int64 {
		return kubewasp.Quantity(node.Labels().Get(plugin.Label)).MilliValue()
	})
	return plugin, nil
}

func (p *CheapNodes) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return p.prices.Get(node), kubewasp.Success()
}

func (p *CheapNodes) NormalizeScore(_ *kubewasp.CycleState, _ *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	scores.Stretch(true)
	return kubewasp.Success()
}

// The compiler checks that the methods are those of the extension points.
var (
	_ kubewasp.Score          = (*CheapNodes)(nil)
	_ kubewasp.NormalizeScore = (*CheapNodes)(nil)
)

// A plugin is registered in an init function of package main.
func ExampleRegister() {
	kubewasp.Register(NewCheapNodes)
}

func ExampleKey() {
	pod := kubewasp.NewPod(kubewasptest.Pod{Name: "web", Priority: 1000}.Encode())
	queuedAt := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	key := kubewasp.Key{}.IntDesc(int64(pod.Priority())).Time(queuedAt)

	fmt.Println(len(key.Bytes()), "bytes")
	// Output: 24 bytes
}

func ExampleQuantity() {
	fmt.Println(kubewasp.Quantity("1500m").MilliValue(), kubewasp.Quantity("2Gi").Value())
	// Output: 1500 2147483648
}

func ExampleMessage() {
	pod := kubewasp.NewPod(kubewasptest.Pod{Name: "web", HostNetwork: true}.Encode())

	const spec, hostNetwork = 2, 11
	fmt.Println(pod.Proto().Sub(spec).Bool(hostNetwork))
	// Output: true
}

func TestCheapNodesPrefersTheLowestPrice(t *testing.T) {
	cluster := kubewasptest.NewCluster(
		kubewasptest.Node{Name: "dear", Labels: map[string]string{"cost": "1.20"}},
		kubewasptest.Node{Name: "cheap", Labels: map[string]string{"cost": "0.35"}},
	)
	plugin := kubewasptest.Load(t, cluster, NewCheapNodes, `{"label": "cost"}`)

	result := plugin.Schedule(kubewasptest.Pod{Name: "web"})

	if result.Node != "cheap" {
		t.Errorf("web is on %q; the scores are %v", result.Node, result.Scores)
	}
}
