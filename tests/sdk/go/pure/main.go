// Command pure is a guest whose configuration says whether it declares itself pure, and whether it is.
package main

import (
	"strconv"

	kubewasp "kubewasp.dev/sdk"
)

type config struct {
	Pure       bool   `json:"pure"`
	Extensions bool   `json:"extensions"` // with AddPod and RemovePod
	Impure     string `json:"impure"`     // a reason why it is not pure: time, others, counter
	Normalize  string `json:"normalize"`  // hook or declared
	Reserve    bool   `json:"reserve"`    // reads the pod's name in Reserve
}

type plugin struct {
	config
	handle *kubewasp.Handle
	calls  int
}

var (
	tier  = kubewasp.NewStateKey[string]()
	moved = kubewasp.NewStateKey[int]()
)

func (p *plugin) PreFilter(state *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	kind := pod.Labels().Get("tier")
	tier.Set(state, kind)
	switch kind {
	case "skip":
		return nil, kubewasp.Skip()
	case "narrow":
		return []string{"node-0", "node-1"}, kubewasp.Success()
	case "never":
		return nil, kubewasp.Unresolvable("never")
	}
	return nil, kubewasp.Success()
}

// Filter reads the annotation of some pods only.
func (p *plugin) Filter(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	p.handle.Log.Info(node.Name())
	if tier.Get(state) == "gold" {
		least, _ := strconv.Atoi(pod.Annotations().Get("least"))
		size, _ := strconv.Atoi(node.Labels().Get("size"))
		if size < least {
			return kubewasp.Unresolvable("size " + strconv.Itoa(size) + " of " + strconv.Itoa(least))
		}
	}
	same := moved.Get(state)
	for _, other := range node.Pods() {
		if other.Labels().Get("tier") == tier.Get(state) {
			same++
		}
	}
	if same > 2 {
		return kubewasp.Unschedulable(strconv.Itoa(same) + " of this tier")
	}
	return kubewasp.Success()
}

// Score reads the request of pods with a priority only.
func (p *plugin) Score(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	score := int64(10 * node.PodCount())
	if pod.Priority() > 0 {
		score += pod.Requests(kubewasp.CPU) / 100
	}
	switch p.Impure {
	case "time":
		score += p.handle.Now().Unix() % 7
	case "counter":
		p.calls++
		score += int64(p.calls) % 5
	case "others":
		for other := range p.handle.Nodes() {
			score += int64(other.PodCount())
		}
	}
	return min(score, 100), kubewasp.Success()
}

type normalizing struct{ *plugin }

func (normalizing) NormalizeScore(_ *kubewasp.CycleState, _ *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	scores.Stretch(true)
	return kubewasp.Success()
}

type extended struct{ *plugin }

func (extended) AddPod(state *kubewasp.CycleState, _, added *kubewasp.Pod, _ *kubewasp.NodeInfo) kubewasp.Status {
	if added.Labels().Get("tier") == "gold" {
		moved.Set(state, moved.Get(state)+1)
	}
	return kubewasp.Success()
}

func (extended) RemovePod(state *kubewasp.CycleState, _, removed *kubewasp.Pod, _ *kubewasp.NodeInfo) kubewasp.Status {
	if removed.Labels().Get("tier") == "gold" {
		moved.Set(state, moved.Get(state)-1)
	}
	return kubewasp.Success()
}

type reserving struct{ *plugin }

func (r reserving) Reserve(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) kubewasp.Status {
	r.handle.Log.Info("reserved for " + pod.Name())
	return kubewasp.Success()
}

func (reserving) Unreserve(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) {}

func newPlugin(handle *kubewasp.Handle) (any, error) {
	made := &plugin{handle: handle}
	if err := handle.DecodeConfig(&made.config); err != nil {
		return nil, err
	}
	if made.Pure {
		handle.Pure()
	}
	switch {
	case made.Normalize == "declared":
		handle.NormalizeScores(kubewasp.Normalization{Method: kubewasp.MinMax, Reverse: true})
	case made.Normalize == "hook":
		return normalizing{made}, nil
	case made.Extensions:
		return extended{made}, nil
	case made.Reserve:
		return reserving{made}, nil
	}
	return made, nil
}

func init() { kubewasp.Register(newPlugin) }

func main() {}
