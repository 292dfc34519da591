// Label-cpu reads a label and the requested CPU of every node.
package main

import kubewasp "kubewasp.dev/sdk"

type LabelCPU struct{}

func New(*kubewasp.Handle) (LabelCPU, error) { return LabelCPU{}, nil }

func (LabelCPU) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	score := node.Requested(kubewasp.CPU) % 49
	if node.Labels().Get("topology.kubernetes.io/zone") == "eu-west-1a" {
		score += 50
	}
	return score, kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
