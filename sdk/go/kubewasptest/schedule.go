//go:build !wasip1

package kubewasptest

import (
	"slices"
	"time"

	kubewasp "kubewasp.dev/sdk"
)

// Result is what became of a pod.
type Result struct {
	// Node is where the pod is, or waits to go; empty if it was turned down.
	Node string
	// Waiting says that Permit holds the pod back, for Timeout at most.
	Waiting bool
	Timeout time.Duration
	// Status says why the pod is on no node.
	Status kubewasp.Status
	// Rejected are the nodes that Filter turned down.
	Rejected map[string]kubewasp.Status
	// Scores are the final scores of the nodes that passed; empty if the plugin does not score.
	Scores map[string]int64
	// Nominated is the node that PostFilter nominated.
	Nominated string
}

type waitingPod struct {
	cycle  *Cycle
	pod    Pod
	until  time.Time
	result *Result
	// What a hook has decided; it takes effect when that hook has returned.
	decided, allowed bool
	reason           string
}

// Schedule does with a pod what the scheduler does, with this plugin as the only one. Of the nodes with the best score the
// first is taken. The pod is then on its node in the cluster; also while it waits, for others must not take its place. The
// result changes when the wait is over.
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
	status, timeout := cycle.Permit(result.Node)
	switch {
	case status.Code == kubewasp.CodeWait:
		result.Waiting, result.Timeout = true, timeout
		p.waiting = append(p.waiting, &waitingPod{cycle: cycle, pod: assumed, until: p.cluster.now.Add(timeout), result: result})
		return result
	case !status.IsSuccess():
		return p.undo(cycle, result, status)
	}
	return p.bind(cycle, result)
}

// Waiting are the names of the pods that wait for permission. Those whose time is up, by the cluster's clock, are turned
// down first.
func (p *Plugin) Waiting() []string {
	for _, w := range p.waiting {
		if !w.decided && !p.cluster.now.Before(w.until) {
			w.decided, w.reason = true, "rejected due to timeout"
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
			result.Rejected[name] = kubewasp.Unresolvable("PreFilter left the node out")
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
	if status := cycle.Bind(result.Node); !status.IsSuccess() && status.Code != kubewasp.CodeSkip {
		return p.undo(cycle, result, status)
	}
	cycle.PostBind(result.Node)
	p.release(cycle)
	return result
}

func (p *Plugin) undo(cycle *Cycle, result *Result, status kubewasp.Status) *Result {
	cycle.Unreserve(result.Node)
	p.cluster.RemovePod(cycle.pod)
	return p.fail(cycle, result, status)
}

func (p *Plugin) fail(cycle *Cycle, result *Result, status kubewasp.Status) *Result {
	result.Node, result.Waiting, result.Timeout, result.Status = "", false, 0, status
	p.release(cycle)
	return result
}

// decide notes what a hook said of a waiting pod.
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

// settle lets the pods go on of which something was decided. Their hooks may decide of others.
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
