// Reader looks at a label and the requested CPU of every node, as most policies do: the guest of the speed goals.
package main

import kubewasp "kubewasp.dev/sdk"

type reader struct{}

func (reader) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	score := node.Requested(kubewasp.CPU) / 1000
	if node.Labels().Get("topology.kubernetes.io/zone") == "zone-1" {
		score += 50
	}
	return score, kubewasp.Success()
}

func init() {
	kubewasp.Register(func(*kubewasp.Handle) (reader, error) { return reader{}, nil })
}

func main() {}
