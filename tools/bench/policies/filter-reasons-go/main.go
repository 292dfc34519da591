// Filter-reasons rejects closed nodes and nodes with little free CPU, with a reason for each.
package main

import kubewasp "kubewasp.dev/sdk"

type FilterReasons struct{}

func New(*kubewasp.Handle) (FilterReasons, error) { return FilterReasons{}, nil }

func (FilterReasons) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if node.Labels().Get("kubewasp.dev/closed") == "true" {
		return kubewasp.Unresolvable("node is closed to new pods")
	}
	if 5*node.Requested(kubewasp.CPU) > 4*node.Allocatable(kubewasp.CPU) {
		return kubewasp.Unschedulable("node has less than 20 % of its CPU left")
	}
	return kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
