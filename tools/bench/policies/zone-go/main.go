// Zone prefers the nodes of one zone, for all pods: one signature, so only changed nodes are evaluated again.
package main

import kubewasp "kubewasp.dev/sdk"

type Zone struct{}

func New(handle *kubewasp.Handle) (Zone, error) {
	handle.SignAllPods()
	return Zone{}, nil
}

func (Zone) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	if node.Labels().Get("topology.kubernetes.io/zone") == "zone-1" {
		return 50, kubewasp.Success()
	}
	return 0, kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
