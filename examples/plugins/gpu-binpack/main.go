// Command gpu-binpack is a scheduler plugin that packs GPUs: a pod that needs some goes where the fewest stay free, so that
// whole nodes are left for the large jobs. Pods that need none stay away from GPU nodes.
package main

import (
	"errors"
	"maps"
	"slices"

	kubewasp "kubewasp.dev/sdk"
)

// Config is the plugin's configuration: guestConfig, as JSON.
type Config struct {
	Resources map[string]int64 `json:"resources"` // the resources that are GPUs, and how much each counts
	Dedicated bool             `json:"dedicated"` // GPU nodes take no pods but those that need GPUs
	Exempt    []string         `json:"exempt"`    // namespaces whose pods may go to dedicated nodes all the same
}

// gpu is one of the resources.
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

// New makes the plugin when it is loaded.
func New(handle *kubewasp.Handle) (*Plugin, error) {
	config := Config{Exempt: []string{"kube-system"}}
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	if config.Resources == nil { // not set before, as the entries of a map would stay beside those of the configuration
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

// EventsToRegister names what may let in a pod that Filter turned down: another node, or one that has lost its GPUs.
func (p *Plugin) EventsToRegister() []kubewasp.ClusterEvent {
	return []kubewasp.ClusterEvent{{Resource: kubewasp.EventNode, Actions: kubewasp.Add | kubewasp.UpdateNodeAllocatable}}
}

// PreFilter looks at the pod once. Most pods need no Filter, which then costs nothing.
func (p *Plugin) PreFilter(_ *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	if !p.dedicated || p.needsGPUs(pod) || p.isExempt(pod) {
		return nil, kubewasp.Skip()
	}
	return nil, kubewasp.Success()
}

// Filter sees only pods that must not go to GPU nodes.
func (p *Plugin) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if p.hasGPUs(node) {
		return kubewasp.Unresolvable("node(s) were only for pods that need GPUs")
	}
	return kubewasp.Success()
}

// Score is the share of the node's GPUs that are in use once the pod is there: the fullest node that still fits is the
// best. Where a pod needs several kinds of GPUs, the share is their weighted mean.
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

// isExempt: what runs on every node must run on GPU nodes too, above all the driver that tells how many GPUs there are.
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
