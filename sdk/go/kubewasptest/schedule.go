//go:build !wasip1

package kubewasptest

import (
	"maps"
	"slices"
	"time"

	kubewasp "kubewasp.dev/sdk"
)

// Result is the scheduling result of a pod.
type Result struct {
	// Node is the node of the pod, or the node it waits for; empty for a rejected pod.
	Node string
	// Waiting is true while the pod waits at Permit, for up to Timeout.
	Waiting bool
	Timeout time.Duration
	// Status is the reason for a pod without a node, in the scheduler's words, with the plugin's type as its name.
	Status kubewasp.Status
	// Rejected has the nodes rejected by Filter.
	Rejected map[string]kubewasp.Status
	// Scores has the final scores of the feasible nodes; empty if the plugin does not score.
	Scores map[string]int64
	// Nominated is the node that PostFilter nominated.
	Nominated string
	// Annotations has the annotations of Reserve and PreBind, which go with the binding.
	Annotations map[string]string
}

type waitingPod struct {
	cycle   *Cycle
	pod     Pod
	timeout time.Duration
	until   time.Time
	result  *Result
	// Decisions of a hook about waiting pods, effective when the hook returns.
	decided, allowed bool
	reason           string
}

// Schedule runs a whole scheduling cycle of a pod, with this plugin alone. It selects the first of the nodes with the best
// score. The pod is then on its node in the cluster, also while it waits at Permit, to keep its place. The result is
// updated at the end of the wait.
func (p *Plugin) Schedule(pod Pod) *Result {
	p.t.Helper()
	defer p.settle()
	cycle := p.acquire()
	result := &Result{Rejected: map[string]kubewasp.Status{}, Scores: map[string]int64{}}
	names, status := cycle.begin(pod)
	skipped := status.Code == kubewasp.CodeSkip
	if !status.IsSuccess() && !skipped {
		return p.fail(cycle, result, status)
	}
	feasible := p.filter(cycle, result, names, skipped)
	if len(feasible) == 0 {
		return p.postFilter(cycle, result)
	}
	scores, status := cycle.rank(feasible)
	if !status.IsSuccess() {
		return p.fail(cycle, result, status)
	}
	result.Scores = scores
	result.Node = slices.MaxFunc(feasible, func(a, b string) int { return int(scores[a] - scores[b]) })
	assumed := cycle.pod
	assumed.NodeName = result.Node
	p.cluster.AddPod(assumed)
	if status := cycle.Reserve(result.Node); !status.IsSuccess() {
		return p.undo(cycle, result, status)
	}
	assumed = p.annotate(cycle, result, assumed)
	status, timeout := cycle.Permit(result.Node)
	switch {
	case status.Code == kubewasp.CodeWait:
		result.Waiting, result.Timeout = true, timeout
		p.waiting = append(p.waiting, &waitingPod{
			cycle: cycle, pod: assumed, timeout: timeout, until: p.cluster.now.Add(timeout), result: result,
		})
		return result
	case !status.IsSuccess():
		return p.undo(cycle, result, status)
	}
	return p.bind(cycle, result)
}

// Waiting returns the names of the pods that wait at Permit. Pods past their timeout, by the cluster's clock, are rejected
// first.
func (p *Plugin) Waiting() []string {
	for _, w := range p.waiting {
		if !w.decided && !p.cluster.now.Before(w.until) {
			w.decided, w.reason = true, "rejected due to timeout after waiting "+w.timeout.String()+" at plugin "+p.name
		}
	}
	p.settle()
	names := make([]string, 0, len(p.waiting))
	for _, w := range p.waiting {
		names = append(names, w.pod.Name)
	}
	return names
}

func (p *Plugin) filter(cycle *Cycle, result *Result, names []string, skipped bool) (feasible []string) {
	for _, row := range p.cluster.present() {
		name := p.cluster.rows[row].node.Name
		if names != nil && !slices.Contains(names, name) {
			result.Rejected[name] = kubewasp.Unresolvable("node(s) didn't satisfy plugin(s) [" + p.name + "] simultaneously")
			continue
		}
		if cycle.has("filter") && !skipped {
			if status := cycle.Filter(name); !status.IsSuccess() {
				result.Rejected[name] = status
				continue
			}
		}
		feasible = append(feasible, name)
	}
	return feasible
}

func (p *Plugin) postFilter(cycle *Cycle, result *Result) *Result {
	status := kubewasp.Unschedulable("no node can take the pod")
	if cycle.has("postfilter") {
		codes := map[string]kubewasp.Code{}
		for name, rejected := range result.Rejected {
			codes[name] = rejected.Code
		}
		nomination, _ := cycle.PostFilter(codes)
		result.Nominated, _ = nomination.Node()
	}
	return p.fail(cycle, result, status)
}

func (p *Plugin) bind(cycle *Cycle, result *Result) *Result {
	if status := cycle.PreBind(result.Node); !status.IsSuccess() {
		return p.undo(cycle, result, status)
	}
	assumed := cycle.pod
	assumed.NodeName = result.Node
	p.annotate(cycle, result, assumed)
	if status := cycle.Bind(result.Node); !status.IsSuccess() && status.Code != kubewasp.CodeSkip {
		return p.undo(cycle, result, status)
	}
	cycle.PostBind(result.Node)
	p.release(cycle)
	return result
}

// annotate puts the pod on its node with its annotations, where the hooks of other pods see them.
func (p *Plugin) annotate(cycle *Cycle, result *Result, assumed Pod) Pod {
	result.Annotations = cycle.Annotations()
	if len(result.Annotations) > 0 {
		own := maps.Clone(assumed.Annotations)
		if own == nil {
			own = map[string]string{}
		}
		maps.Copy(own, result.Annotations)
		p.cluster.RemovePod(assumed)
		assumed.Annotations = own
		p.cluster.AddPod(assumed)
	}
	return assumed
}

func (p *Plugin) undo(cycle *Cycle, result *Result, status kubewasp.Status) *Result {
	cycle.Unreserve(result.Node)
	p.cluster.RemovePod(cycle.pod)
	return p.fail(cycle, result, status)
}

func (p *Plugin) fail(cycle *Cycle, result *Result, status kubewasp.Status) *Result {
	result.Node, result.Waiting, result.Timeout, result.Status = "", false, 0, status
	result.Annotations = nil
	p.release(cycle)
	return result
}

// decide records the decision of a hook about a waiting pod.
func (p *Plugin) decide(uid string, allowed bool, reason string) bool {
	for _, w := range p.waiting {
		if w.pod.UID == uid {
			if !w.decided {
				w.decided, w.allowed, w.reason = true, allowed, reason
			}
			return true
		}
	}
	return false
}

// settle continues the pods with a decision. Their hooks may decide about others.
func (p *Plugin) settle() {
	for {
		at := slices.IndexFunc(p.waiting, func(w *waitingPod) bool { return w.decided })
		if at < 0 {
			return
		}
		w := p.waiting[at]
		p.waiting = slices.Delete(p.waiting, at, at+1)
		w.result.Waiting, w.result.Timeout = false, 0
		if w.allowed {
			p.bind(w.cycle, w.result)
		} else {
			p.undo(w.cycle, w.result, kubewasp.Unschedulable(w.reason))
		}
	}
}
