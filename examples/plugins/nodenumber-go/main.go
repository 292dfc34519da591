// Command nodenumber-go is a scheduler plugin that prefers the node with the pod's number. web-3 prefers node-3.
package main

import (
	"errors"
	"strconv"

	kubewasp "kubewasp.dev/sdk"
)

const (
	score   = 10
	noDigit = -1
)

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Reverse  bool `json:"reverse"`  // prefer nodes with another number instead
	Reserved *int `json:"reserved"` // nodes with this number accept no pods
}

// NodeNumber compares the last digits of names. A name that does not end in a digit never scores.
type NodeNumber struct {
	reverse  bool
	reserved int
	reason   string
}

var (
	_ kubewasp.Signature = (*NodeNumber)(nil)
	_ kubewasp.Filter    = (*NodeNumber)(nil)
	_ kubewasp.PreScore  = (*NodeNumber)(nil)
	_ kubewasp.Score     = (*NodeNumber)(nil)
)

// wanted is the pod's digit, read once per cycle and not once per node.
var wanted = kubewasp.NewStateKey[int]()

// New creates the plugin when it is loaded.
func New(handle *kubewasp.Handle) (*NodeNumber, error) {
	var config Config
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	plugin := &NodeNumber{reverse: config.Reverse, reserved: noDigit}
	if config.Reserved != nil {
		number := strconv.Itoa(*config.Reserved)
		if *config.Reserved < 0 || *config.Reserved > 9 {
			return nil, errors.New("config: reserved must be a digit, 0 to 9, not " + number)
		}
		plugin.reserved = *config.Reserved
		plugin.reason = "node number " + number + " is reserved"
	}
	return plugin, nil
}

// SignPod is the same for pods with the same digit. They share the results for a node until the node changes.
func (p *NodeNumber) SignPod(pod *kubewasp.Pod) uint64 {
	return kubewasp.NewHasher().Int(int64(lastDigit(pod.Name()))).Sum()
}

// Filter rejects nodes with the reserved number.
func (p *NodeNumber) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if p.reserved != noDigit && lastDigit(node.Name()) == p.reserved {
		return kubewasp.Unschedulable(p.reason)
	}
	return kubewasp.Success()
}

// PreScore reads the pod's digit.
func (p *NodeNumber) PreScore(state *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.Nodes) kubewasp.Status {
	wanted.Set(state, lastDigit(pod.Name()))
	return kubewasp.Success()
}

// Score compares the digits of the pod and the node.
func (p *NodeNumber) Score(state *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	ofPod, ofNode := wanted.Get(state), lastDigit(node.Name())
	if ofPod == noDigit || ofNode == noDigit || (ofPod == ofNode) == p.reverse {
		return 0, kubewasp.Success()
	}
	return score, kubewasp.Success()
}

// lastDigit is the digit at the end of the name, or noDigit.
func lastDigit(name string) int {
	if name == "" {
		return noDigit
	}
	if last := name[len(name)-1]; '0' <= last && last <= '9' {
		return int(last - '0')
	}
	return noDigit
}

func init() { kubewasp.Register(New) }

func main() {}
