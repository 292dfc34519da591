// Podcount prefers nodes with few pods. With the configuration "declared" it is pure and has its scores normalized; without,
// it is called for every node and normalizes them itself.
package main

import kubewasp "kubewasp.dev/sdk"

type PodCount struct{}

// The hooks of a plugin that declares nothing.
type normalizing struct{ PodCount }

func New(handle *kubewasp.Handle) (any, error) {
	if handle.Config() != "declared" {
		return normalizing{}, nil
	}
	handle.Pure()
	handle.NormalizeScores(kubewasp.Normalization{Method: kubewasp.Proportional, Reverse: true})
	return PodCount{}, nil
}

func (PodCount) PreFilter(*kubewasp.CycleState, *kubewasp.Pod) ([]string, kubewasp.Status) {
	return nil, kubewasp.Success()
}

func (PodCount) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return int64(node.PodCount()), kubewasp.Success()
}

func (normalizing) NormalizeScore(_ *kubewasp.CycleState, _ *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	scores.Normalize(true)
	return kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
