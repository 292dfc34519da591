// Command gpu-binpack is a scheduler plugin that packs GPUs: a pod with GPUs goes to the fullest node that fits, so that whole
// nodes stay free for large jobs. Pods without GPUs prefer other nodes.
package main

import (
	"errors"
	"maps"
	"slices"

	kubewasp "kubewasp.dev/sdk"
)

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Resources map[string]int64 `json:"resources"` // GPU resources and their weights
	Dedicated bool             `json:"dedicated"` // GPU nodes accept only pods that need GPUs
	Exempt    []string         `json:"exempt"`    // namespaces whose pods are accepted on dedicated nodes
}

// gpu is a GPU resource.
type gpu struct {
	resource kubewasp.Resource
	weight   int64
}

// Plugin packs GPUs.
type Plugin struct {
	gpus      []gpu
	dedicated bool
	exempt    []string
}

var (
	_ kubewasp.EnqueueExtensions = (*Plugin)(nil)
	_ kubewasp.PreFilter         = (*Plugin)(nil)
	_ kubewasp.Filter            = (*Plugin)(nil)
	_ kubewasp.Score             = (*Plugin)(nil)
)

// New creates the plugin when it is loaded.
func New(handle *kubewasp.Handle) (*Plugin, error) {
	config := Config{Exempt: []string{"kube-system"}}
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	if config.Resources == nil { // set here: JSON decoding adds to the entries of a map
		config.Resources = map[string]int64{"nvidia.com/gpu": 1}
	}
	if len(config.Resources) == 0 {
		return nil, errors.New("config: resources must name at least one resource")
	}
	plugin := &Plugin{dedicated: config.Dedicated, exempt: config.Exempt}
	for _, name := range slices.Sorted(maps.Keys(config.Resources)) {
		weight := config.Resources[name]
		if name == "" || weight < 1 || weight > 1000 {
			return nil, errors.New("config: resources: the weight of \"" + name + "\" must be from 1 to 1000")
		}
		plugin.gpus = append(plugin.gpus, gpu{handle.Resource(name), weight})
	}
	return plugin, nil
}

// EventsToRegister lists the events that may help a rejected pod: a new node, or a node that lost its GPUs.
func (p *Plugin) EventsToRegister() []kubewasp.ClusterEvent {
	return []kubewasp.ClusterEvent{{Resource: kubewasp.EventNode, Actions: kubewasp.Add | kubewasp.UpdateNodeAllocatable}}
}

// PreFilter skips Filter for most pods.
func (p *Plugin) PreFilter(_ *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	if !p.dedicated || p.needsGPUs(pod) || p.isExempt(pod) {
		return nil, kubewasp.Skip()
	}
	return nil, kubewasp.Success()
}

// Filter rejects GPU nodes. PreFilter skips it for all other pods.
func (p *Plugin) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if p.hasGPUs(node) {
		return kubewasp.Unresolvable("node(s) were only for pods that need GPUs")
	}
	return kubewasp.Success()
}

// Score is the share of the node's GPUs in use, including the pod: the fullest node that fits is the best. With several
// kinds of GPUs, it is their weighted mean.
func (p *Plugin) Score(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	var sum, weights int64
	for _, gpu := range p.gpus {
		wanted := pod.Requests(gpu.resource)
		if wanted == 0 {
			continue
		}
		weights += gpu.weight
		if all := node.Allocatable(gpu.resource); all > 0 {
			used := min(node.Requested(gpu.resource)+wanted, all)
			sum += gpu.weight * used * kubewasp.MaxScore / all
		}
	}
	switch {
	case weights > 0:
		return sum / weights, kubewasp.Success()
	case p.hasGPUs(node):
		return 0, kubewasp.Success()
	}
	return kubewasp.MaxScore, kubewasp.Success()
}

func (p *Plugin) needsGPUs(pod *kubewasp.Pod) bool {
	for _, gpu := range p.gpus {
		if pod.Requests(gpu.resource) > 0 {
			return true
		}
	}
	return false
}

func (p *Plugin) hasGPUs(node *kubewasp.NodeInfo) bool {
	for _, gpu := range p.gpus {
		if node.Allocatable(gpu.resource) > 0 {
			return true
		}
	}
	return false
}

// isExempt is true for DaemonSets, such as the GPU device plugin, and for exempt namespaces.
func (p *Plugin) isExempt(pod *kubewasp.Pod) bool {
	for _, owner := range pod.OwnerReferences() {
		if owner.Kind == "DaemonSet" {
			return true
		}
	}
	return slices.Contains(p.exempt, pod.Namespace())
}

func init() { kubewasp.Register(New) }

func main() {}
