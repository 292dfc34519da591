// Nodenumber gives 10 points to a node whose name ends in the same digit as the pod's name. It signs no pods: the
// benchmark measures the evaluation of every node for every pod.
package main

import kubewasp "kubewasp.dev/sdk"

const noDigit = -1

type NodeNumber struct{}

// wanted is the pod's digit.
var wanted = kubewasp.NewStateKey[int]()

func New(*kubewasp.Handle) (NodeNumber, error) { return NodeNumber{}, nil }

func (NodeNumber) PreScore(state *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.Nodes) kubewasp.Status {
	wanted.Set(state, lastDigit(pod.Name()))
	return kubewasp.Success()
}

func (NodeNumber) Score(state *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	digit := lastDigit(node.Name())
	if digit != noDigit && digit == wanted.Get(state) {
		return 10, kubewasp.Success()
	}
	return 0, kubewasp.Success()
}

func lastDigit(name string) int {
	if name == "" || name[len(name)-1] < '0' || name[len(name)-1] > '9' {
		return noDigit
	}
	return int(name[len(name)-1] - '0')
}

func init() { kubewasp.Register(New) }

func main() {}
