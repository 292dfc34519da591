// Everyhook implements every extension point. What it answers shows what it was given.
package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	kubewasp "kubewasp.dev/sdk"
)

type plugin struct {
	handle *kubewasp.Handle
	gpu    kubewasp.Resource
	fail   string
}

type config struct {
	Fail string `json:"fail"` // the hook that panics; "factory" fails when the plugin is made
}

// trial is changed in place by AddPod and RemovePod.
type trial struct{ pods []string }

func (t *trial) Clone() *trial { return &trial{append([]string{}, t.pods...)} }

var (
	podName = kubewasp.NewStateKey[string]()
	trials  = kubewasp.NewStateKey[*trial]()
)

func newPlugin(handle *kubewasp.Handle) (*plugin, error) {
	var settings config
	if err := handle.DecodeConfig(&settings); err != nil {
		return nil, err
	}
	if settings.Fail == "factory" {
		return nil, errors.New("the factory was told to fail")
	}
	handle.Log.Info("made", "at", handle.Now().Format(time.RFC3339))
	return &plugin{handle, handle.Resource("example.com/gpu"), settings.Fail}, nil
}

func (p *plugin) enter(hook string) {
	if p.fail == hook {
		panic("told to panic in " + hook)
	}
}

func number(value int64) string { return strconv.FormatInt(value, 10) }

func (p *plugin) EventsToRegister() []kubewasp.ClusterEvent {
	return []kubewasp.ClusterEvent{
		{Resource: kubewasp.EventNode, Actions: kubewasp.Add | kubewasp.UpdateNodeLabel},
		{Resource: kubewasp.EventPod, Actions: kubewasp.Delete},
	}
}

func (p *plugin) PreEnqueue(pod *kubewasp.Pod) kubewasp.Status {
	if pod.Labels().Get("hold") != "" {
		return kubewasp.Unresolvable("held: " + pod.Labels().Get("hold"))
	}
	return kubewasp.Success()
}

func (p *plugin) SortKey(pod *kubewasp.Pod, queuedAt time.Time) kubewasp.Key {
	return kubewasp.Key{}.IntDesc(int64(pod.Priority())).Time(queuedAt)
}

func (p *plugin) QueueingHint(pod *kubewasp.Pod, change *kubewasp.Change) kubewasp.Hint {
	if node := change.NewNode(); node != nil && node.Labels().Get("for") == pod.Name() && change.Action == kubewasp.Add {
		return kubewasp.Queue
	}
	if old := change.OldPod(); old != nil && old.Name() == "victim" && change.NewPod() == nil {
		return kubewasp.Queue
	}
	return kubewasp.QueueSkip
}

func (p *plugin) SignPod(pod *kubewasp.Pod) uint64 {
	if pod.Labels().Has("sign") {
		return kubewasp.NewHasher().String(pod.Labels().Get("sign")).Sum()
	}
	return 0
}

func (p *plugin) PreFilter(state *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	p.enter("prefilter")
	if left := podName.Get(state); left != "" {
		return nil, kubewasp.Failed("the state of " + left + " is still there")
	}
	podName.Set(state, pod.Name())
	trials.Set(state, &trial{})
	if nodes := pod.Annotations().Get("nodes"); nodes != "" {
		return strings.Split(nodes, ","), kubewasp.Success()
	}
	return nil, kubewasp.Success()
}

func (p *plugin) AddPod(state *kubewasp.CycleState, _, added *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	kept := trials.Get(state)
	kept.pods = append(kept.pods, "+"+added.Name()+"@"+node.Name())
	return kubewasp.Success()
}

func (p *plugin) RemovePod(state *kubewasp.CycleState, _, removed *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	kept := trials.Get(state)
	kept.pods = append(kept.pods, "-"+removed.Name()+"@"+node.Name())
	return kubewasp.Success()
}

// Filter rejects every node, with all it knows of it, if the pod asks for it.
func (p *plugin) Filter(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	p.enter("filter")
	if podName.Get(state) != pod.Name() {
		return kubewasp.Failed("the state is of " + podName.Get(state))
	}
	switch pod.Annotations().Get("show") {
	case "numbers":
		return kubewasp.Unschedulable(p.numbers(pod, node))
	case "node":
		return kubewasp.Unschedulable(object(&node.Node))
	case "pods":
		names := ""
		for _, other := range node.Pods() {
			names += other.Name() + "(" + number(other.Requests(kubewasp.CPU)) + ") "
		}
		return kubewasp.Unschedulable(names)
	case "images":
		state := node.ImageStates()["nginx:1"]
		return kubewasp.Unschedulable(number(state.Size) + " bytes on " + number(int64(state.NumNodes)) + " nodes")
	case "waiting":
		return kubewasp.Unschedulable(kubewasp.KObjSlice([]*kubewasp.Pod{p.handle.GetWaitingPod("u1")}).String())
	case "trial":
		return kubewasp.Unschedulable(strings.Join(trials.Get(state).pods, " "))
	}
	for _, taint := range node.Taints() {
		if taint.Effect == kubewasp.NoSchedule && !pod.Tolerates(taint) {
			return kubewasp.Unresolvable("untolerated taint " + taint.Key)
		}
	}
	return kubewasp.Success()
}

func (p *plugin) numbers(pod *kubewasp.Pod, node *kubewasp.NodeInfo) string {
	text := "node"
	for _, resource := range []kubewasp.Resource{kubewasp.CPU, kubewasp.Memory, kubewasp.EphemeralStorage, kubewasp.Pods, p.gpu} {
		text += " " + number(node.Requested(resource)) + "/" + number(node.Allocatable(resource))
	}
	text += " nonzero " + number(node.NonZeroRequested(kubewasp.CPU)) + " " + number(node.NonZeroRequested(kubewasp.Memory))
	text += " pod " + number(pod.Requests(kubewasp.CPU)) + " " + number(pod.Requests(p.gpu)) + " " + number(pod.Requests(kubewasp.Pods))
	return text + " nonzero " + number(pod.NonZeroRequests(kubewasp.CPU)) + " " + number(pod.NonZeroRequests(kubewasp.Memory))
}

func object(node *kubewasp.Node) string {
	text := node.Name() + " " + node.Labels().Get("zone") + " " + node.Condition("Ready") + " " + node.ProviderID()
	for _, image := range node.Images() {
		text += " " + image.Names[0] + "=" + number(image.SizeBytes)
	}
	return text + " " + string(node.AllocatableQuantities().Get("cpu"))
}

func (p *plugin) PostFilter(_ *kubewasp.CycleState, _ *kubewasp.Pod, statuses *kubewasp.NodeStatuses) (kubewasp.Nomination, kubewasp.Status) {
	for node, code := range statuses.All() {
		if code == kubewasp.CodeUnschedulable {
			return kubewasp.Nominate(node.Name()), kubewasp.Success()
		}
	}
	return kubewasp.Nomination{}, kubewasp.Unschedulable(strconv.Itoa(statuses.Len()) + " nodes, none to rescue")
}

func (p *plugin) PreScore(_ *kubewasp.CycleState, pod *kubewasp.Pod, nodes *kubewasp.Nodes) kubewasp.Status {
	names := ""
	for node := range nodes.All() {
		names += node.Name() + " "
	}
	p.handle.Log.Warning("prescore", "feasible", names, "pod", pod)
	return kubewasp.Success()
}

func (p *plugin) Score(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	if node.Labels().Get("score") == "bad" {
		return 0, kubewasp.Failed("no score for " + node.Name())
	}
	return kubewasp.Quantity(node.Labels().Get("score")).Value(), kubewasp.Success()
}

func (p *plugin) NormalizeScore(_ *kubewasp.CycleState, _ *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	scores.Stretch(false)
	return kubewasp.Success()
}

func (p *plugin) Reserve(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if gpu := pod.Labels().Get("gpu"); gpu != "" {
		p.handle.Annotate("example.com/gpu-index", gpu)
		return kubewasp.Success()
	}
	return kubewasp.Unschedulable("reserve on " + node.Name())
}

func (p *plugin) Unreserve(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) {
	p.handle.Log.Error("unreserve", "node", node.Name(), "state", podName.Get(state))
}

func (p *plugin) Permit(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) (kubewasp.Status, time.Duration) {
	waiting := p.handle.WaitingPods()
	for _, other := range waiting {
		if other.Labels().Get("gang") == "broken" {
			p.handle.RejectWaitingPod(other.UID(), "the gang is broken")
		} else {
			p.handle.AllowWaitingPod(other.UID())
		}
	}
	if len(waiting) > 0 {
		return kubewasp.Success(), 0
	}
	return kubewasp.Wait(""), 1500 * time.Millisecond
}

func (p *plugin) PreBind(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	return kubewasp.Failed("prebind on " + node.Name())
}

func (p *plugin) Bind(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) kubewasp.Status {
	return kubewasp.Skip()
}

func (p *plugin) PostBind(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) {
	p.handle.Eventf(pod.Reference(), kubewasp.EventTypeNormal, "Bound", "Binding", "on \"%s\"", node.Name())
}

func init() { kubewasp.Register(newPlugin) }

func main() {}
