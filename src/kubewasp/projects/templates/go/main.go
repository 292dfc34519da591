// Command plugin-name is a scheduler plugin: it prefers nodes by the value of a label, and closes some of them.
package main

import (
	"errors"
	"slices"

	kubewasp "kubewasp.dev/sdk"
)

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Label  string   `json:"label"`  // the label of nodes that is looked at
	Prefer []string `json:"prefer"` // its values, the best first
	Closed []string `json:"closed"` // nodes with these values take no pods but those of kube-system
}

// Plugin takes part in Filter and Score, as it has the methods of these two interfaces.
type Plugin struct {
	config Config
}

var (
	_ kubewasp.Filter = (*Plugin)(nil)
	_ kubewasp.Score  = (*Plugin)(nil)
)

// New makes the plugin when it is loaded. With an error, it is not loaded.
func New(handle *kubewasp.Handle) (*Plugin, error) {
	config := Config{Label: "disktype", Prefer: []string{"nvme", "ssd"}}
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	if config.Label == "" {
		return nil, errors.New("config: label must not be empty")
	}
	return &Plugin{config}, nil
}

// Filter says whether the node can take the pod.
func (p *Plugin) Filter(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	value := node.Labels().Get(p.config.Label)
	if slices.Contains(p.config.Closed, value) && pod.Namespace() != "kube-system" {
		return kubewasp.Unresolvable("nodes with " + p.config.Label + "=" + value + " are closed")
	}
	return kubewasp.Success()
}

// Score ranks the node from 0 to 100: the earlier its value stands in the list, the more.
func (p *Plugin) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	count := len(p.config.Prefer)
	place := slices.Index(p.config.Prefer, node.Labels().Get(p.config.Label))
	if place < 0 {
		return 0, kubewasp.Success()
	}
	return int64(kubewasp.MaxScore * (count - place) / count), kubewasp.Success()
}

func init() { kubewasp.Register(New) }

func main() {}
