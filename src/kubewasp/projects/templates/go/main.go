// Command plugin-name is a scheduler plugin that prefers nodes by the value of a label, and rejects some of them.
package main

import (
	"errors"
	"slices"

	kubewasp "kubewasp.dev/sdk"
)

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Label  string   `json:"label"`  // node label
	Prefer []string `json:"prefer"` // preferred values of the label, best first
	Closed []string `json:"closed"` // values of nodes that accept pods of kube-system only
}

// Plugin implements Filter and Score; the scheduler calls the extension points that a plugin implements.
type Plugin struct {
	config Config
}

var (
	_ kubewasp.Filter = (*Plugin)(nil)
	_ kubewasp.Score  = (*Plugin)(nil)
)

// New creates the plugin. An error fails the load.
func New(handle *kubewasp.Handle) (*Plugin, error) {
	config := Config{Label: "disktype", Prefer: []string{"nvme", "ssd"}}
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	if config.Label == "" {
		return nil, errors.New("config: label must not be empty")
	}
	// The results depend on the pod, the configuration and one node with its pods: the scheduler asks again only about nodes
	// that have changed. Remove this line if the plugin looks at other nodes, the time, or variables that hooks change.
	handle.Pure()
	// The best of the nodes gets 100, the others a share of it.
	handle.NormalizeScores(kubewasp.Normalization{Method: kubewasp.Proportional})
	return &Plugin{config}, nil
}

// Filter rejects closed nodes, except for pods of kube-system.
func (p *Plugin) Filter(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	value := node.Labels().Get(p.config.Label)
	if slices.Contains(p.config.Closed, value) && pod.Namespace() != "kube-system" {
		return kubewasp.Unresolvable("nodes with " + p.config.Label + "=" + value + " are closed")
	}
	return kubewasp.Success()
}

// Score rates the node by the position of its label value in the list.
func (p *Plugin) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	place := slices.Index(p.config.Prefer, node.Labels().Get(p.config.Label))
	if place < 0 {
		return 0, kubewasp.Success()
	}
	return int64(len(p.config.Prefer) - place), kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
