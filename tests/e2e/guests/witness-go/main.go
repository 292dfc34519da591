// Witness records an event at every extension point, and decides there what labels and annotations tell it to.
// ../witness-python does the same.
package main

import (
	"time"

	kubewasp "kubewasp.dev/sdk"
)

type plugin struct{ handle *kubewasp.Handle }

func (p *plugin) saw(hook string, pod *kubewasp.Pod, note string) {
	p.handle.Eventf(pod.Reference(), kubewasp.EventTypeNormal, hook, "Witnessing", "%s", note)
}

// refusal is what the pod's annotation of the hook's name says; empty if nothing stands against it.
func refusal(hook string, pod *kubewasp.Pod) string { return pod.Annotations().Get(hook) }

func verdict(hook string, pod *kubewasp.Pod) kubewasp.Status {
	if reason := refusal(hook, pod); reason != "" {
		return kubewasp.Unschedulable(reason)
	}
	return kubewasp.Success()
}

func (p *plugin) EventsToRegister() []kubewasp.ClusterEvent {
	return []kubewasp.ClusterEvent{{Resource: kubewasp.EventPod, Actions: kubewasp.Update}}
}

func (p *plugin) QueueingHint(pod *kubewasp.Pod, change *kubewasp.Change) kubewasp.Hint {
	if changed := change.NewPod(); changed != nil && changed.UID() == pod.UID() {
		return kubewasp.Queue
	}
	return kubewasp.QueueSkip
}

func (p *plugin) PreEnqueue(pod *kubewasp.Pod) kubewasp.Status {
	p.saw("PreEnqueue", pod, "")
	return verdict("PreEnqueue", pod)
}

func (p *plugin) SortKey(pod *kubewasp.Pod, queuedAt time.Time) kubewasp.Key {
	return kubewasp.Key{}.String(pod.Labels().Get("order")).Time(queuedAt)
}

func (p *plugin) PreFilter(_ *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	p.saw("PreFilter", pod, "")
	if only := pod.Annotations().Get("only"); only != "" {
		return []string{only}, kubewasp.Success()
	}
	return nil, verdict("PreFilter", pod)
}

func (p *plugin) Filter(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if closed := node.Labels().Get("closed"); closed != "" {
		return kubewasp.Unschedulable("closed for " + closed)
	}
	return kubewasp.Success()
}

func (p *plugin) PostFilter(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeStatuses) (kubewasp.Nomination, kubewasp.Status) {
	p.saw("PostFilter", pod, "")
	return kubewasp.Nomination{}, kubewasp.Unschedulable("nothing to be done")
}

func (p *plugin) PreScore(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.Nodes) kubewasp.Status {
	p.saw("PreScore", pod, "")
	return kubewasp.Success()
}

func (p *plugin) Score(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return kubewasp.Quantity(node.Labels().Get("points")).Value(), kubewasp.Success()
}

func (p *plugin) NormalizeScore(_ *kubewasp.CycleState, pod *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	p.saw("NormalizeScore", pod, "")
	scores.Stretch(false)
	return kubewasp.Success()
}

func (p *plugin) Reserve(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	p.saw("Reserve", pod, node.Name())
	p.handle.Annotate("witness.example/reserved", node.Name())
	return verdict("Reserve", pod)
}

func (p *plugin) Unreserve(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) {
	p.saw("Unreserve", pod, node.Name())
}

func (p *plugin) Permit(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) (kubewasp.Status, time.Duration) {
	p.saw("Permit", pod, node.Name())
	return verdict("Permit", pod), 0
}

func (p *plugin) PreBind(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	p.saw("PreBind", pod, node.Name())
	p.handle.Annotate("witness.example/Bound", pod.Name()+" → "+node.Name())
	if reason := refusal("PreBind", pod); reason != "" {
		return kubewasp.Failed(reason)
	}
	return kubewasp.Success()
}

func (p *plugin) Bind(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	p.saw("Bind", pod, node.Name())
	return kubewasp.Skip()
}

func (p *plugin) PostBind(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) {
	p.saw("PostBind", pod, node.Name())
}

func init() {
	kubewasp.Register(func(handle *kubewasp.Handle) (*plugin, error) { return &plugin{handle}, nil })
}

func main() {}
