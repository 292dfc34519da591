//go:build !wasip1

package kubewasptest

import (
	"maps"
	"math"
	"slices"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/internal/bridge"
)

// Cycle is the scheduling cycle of one pod, with single hook calls in the order of the test.
type Cycle struct {
	plugin *Plugin
	host   *instance
	guest  *bridge.Guest
	pod    Pod
	trials int
	notes  map[string]string
}

// Cycle starts the cycle of a pod with PreFilter, if the plugin has it. The test ends if PreFilter rejects the pod.
func (p *Plugin) Cycle(pod Pod) *Cycle {
	p.t.Helper()
	cycle := p.acquire()
	p.t.Cleanup(func() { p.release(cycle) })
	if _, status := cycle.begin(pod); !status.IsSuccess() && status.Code != kubewasp.CodeSkip {
		p.t.Fatalf("PreFilter: %v", status)
	}
	return cycle
}

// PreFilter starts the cycle of a pod and returns the result of PreFilter: the names of the candidate nodes, nil for all.
func (p *Plugin) PreFilter(pod Pod) ([]string, kubewasp.Status) {
	cycle := p.acquire()
	defer p.release(cycle)
	return cycle.begin(pod)
}

// Signature returns the signature of a pod; 0 if it has none.
func (p *Plugin) Signature(pod Pod) uint64 {
	cycle := p.acquire()
	defer p.release(cycle)
	cycle.begin(pod)
	if cycle.has("signpod") {
		if signature := uint64(cycle.guest.SignPod()); signature != 0 {
			return signature
		}
	}
	return cycle.host.signature // of all pods
}

func (c *Cycle) begin(pod Pod) ([]string, kubewasp.Status) {
	c.pod = pod.withDefaults()
	c.notes = nil
	fake := c.host
	fake.cycles++
	fake.pod, fake.target, fake.row, fake.state = c.pod.Encode(), "", -1, 0
	fake.nodes, fake.nominated, fake.sent = nil, "", nil
	fake.feasible, fake.scores, fake.statuses = nil, nil, nil
	if !c.has("prefilter") {
		return nil, kubewasp.Success()
	}
	status := c.status(c.guest.PreFilter)
	return fake.nodes, status
}

func (c *Cycle) has(hook string) bool {
	return c.host.hooks&(1<<slices.Index(bridge.Hooks, hook)) != 0
}

func (c *Cycle) need(hook string) {
	c.plugin.t.Helper()
	if !c.has(hook) {
		c.plugin.t.Fatalf("the plugin does not implement the hook %s", hook)
	}
}

func (c *Cycle) status(hook func() int32) kubewasp.Status {
	c.host.reason = ""
	return c.made(kubewasp.Code(hook()))
}

// made returns a status in the form of the scheduler: Success has no reason and no hint.
func (c *Cycle) made(code kubewasp.Code) kubewasp.Status {
	hint := c.host.hint
	c.host.hint = ""
	if code == kubewasp.CodeSuccess {
		return kubewasp.Success()
	}
	status := kubewasp.Status{Code: code, Reason: c.host.reason}
	if hint != "" {
		return status.WithHint(hint)
	}
	return status
}

// on sets the current node.
func (c *Cycle) on(node string) {
	c.plugin.t.Helper()
	c.host.row = c.plugin.cluster.row(node)
	if c.host.row < 0 {
		c.plugin.t.Fatalf("there is no node %q", node)
	}
}

// Filter returns the status of Filter for a node.
func (c *Cycle) Filter(node string) kubewasp.Status {
	c.plugin.t.Helper()
	c.need("filter")
	c.on(node)
	return c.status(c.guest.Filter)
}

// PreScore calls PreScore with the feasible nodes: these, or all if none are given.
func (c *Cycle) PreScore(feasible ...string) kubewasp.Status {
	c.plugin.t.Helper()
	c.setFeasible(feasible)
	c.host.row = -1
	if !c.has("prescore") {
		return kubewasp.Success()
	}
	return c.status(c.guest.PreScore)
}

func (c *Cycle) setFeasible(names []string) {
	c.plugin.t.Helper()
	c.host.feasible = nil
	if len(names) == 0 {
		c.host.feasible = c.plugin.cluster.present()
	}
	for _, name := range names {
		c.on(name)
		c.host.feasible = append(c.host.feasible, int32(c.host.row))
	}
}

// Score returns the score of a node before normalization. The test ends if there is none.
func (c *Cycle) Score(node string) int64 {
	c.plugin.t.Helper()
	score, status := c.score(node)
	if !status.IsSuccess() {
		c.plugin.t.Fatalf("Score of %s: %v", node, status)
	}
	return score
}

// ScoreStatus returns the status of Score for a node.
func (c *Cycle) ScoreStatus(node string) kubewasp.Status {
	c.plugin.t.Helper()
	_, status := c.score(node)
	return status
}

func (c *Cycle) score(node string) (int64, kubewasp.Status) {
	c.plugin.t.Helper()
	c.need("score")
	c.on(node)
	c.host.reason = ""
	answer := c.guest.Score()
	return answer >> 32, c.made(kubewasp.Code(int32(answer)))
}

// Scores returns the final scores of these nodes, or of all: PreScore, Score, and NormalizeScore or its declaration.
func (c *Cycle) Scores(nodes ...string) map[string]int64 {
	c.plugin.t.Helper()
	scores, status := c.rank(nodes)
	if !status.IsSuccess() {
		c.plugin.t.Fatalf("the nodes have no scores: %v", status)
	}
	return scores
}

func (c *Cycle) rank(nodes []string) (map[string]int64, kubewasp.Status) {
	c.plugin.t.Helper()
	status := c.PreScore(nodes...)
	if !status.IsSuccess() || !c.has("score") {
		if status.Code == kubewasp.CodeSkip {
			status = kubewasp.Success()
		}
		return map[string]int64{}, status
	}
	var values []int64
	var names []string
	for _, row := range c.host.feasible {
		name := c.plugin.cluster.rows[row].node.Name
		score, status := c.score(name)
		if !status.IsSuccess() {
			return nil, status
		}
		values, names = append(values, score), append(names, name)
	}
	if c.has("normalizescore") {
		c.host.row, c.host.scores, c.host.sent = -1, values, nil
		if status := c.status(c.guest.NormalizeScore); !status.IsSuccess() {
			return nil, status
		}
		if c.host.sent != nil {
			values = c.host.sent
		}
	}
	c.host.normalization.Apply(values)
	scores := map[string]int64{}
	for i, name := range names {
		scores[name] = values[i]
		if values[i] < 0 || values[i] > kubewasp.MaxScore {
			return nil, kubewasp.Failed("the score of " + name + " is not from 0 to 100 after NormalizeScore")
		}
	}
	return scores, kubewasp.Success()
}

// PostFilter calls PostFilter with the codes of the rejected nodes.
func (c *Cycle) PostFilter(codes map[string]kubewasp.Code) (kubewasp.Nomination, kubewasp.Status) {
	c.plugin.t.Helper()
	c.need("postfilter")
	c.host.statuses, c.host.nominated, c.host.reason = nil, "", ""
	for _, row := range c.plugin.cluster.present() {
		if code, rejected := codes[c.plugin.cluster.rows[row].node.Name]; rejected {
			c.host.statuses = append(c.host.statuses, row, int32(code))
		}
	}
	c.host.row = -1
	answer := c.guest.PostFilter()
	var nomination kubewasp.Nomination
	if answer>>32 == 1 {
		nomination = kubewasp.Nominate(c.host.nominated)
	}
	return nomination, c.made(kubewasp.Code(int32(answer)))
}

// AddPod calls AddPod for a pod that is added to a node in a trial.
func (c *Cycle) AddPod(added Pod, node string) kubewasp.Status {
	c.plugin.t.Helper()
	return c.withTarget("addpod", c.guest.AddPod, added, node)
}

// RemovePod calls RemovePod for a pod that is removed from a node in a trial.
func (c *Cycle) RemovePod(removed Pod, node string) kubewasp.Status {
	c.plugin.t.Helper()
	return c.withTarget("removepod", c.guest.RemovePod, removed, node)
}

func (c *Cycle) withTarget(name string, hook func() int32, target Pod, node string) kubewasp.Status {
	c.plugin.t.Helper()
	c.need(name)
	c.on(node)
	c.host.target = target.Encode()
	defer func() { c.host.target = "" }()
	return c.status(hook)
}

// Trial runs a function with a copy of the cycle state, as in preemption, and restores the state.
func (c *Cycle) Trial(run func()) {
	c.plugin.t.Helper()
	c.need("clonestate")
	before := c.host.state
	c.trials++
	number := c.trials
	c.host.state = number
	c.guest.CloneState()
	c.guest.SelectState()
	run()
	c.host.state = before
	c.guest.SelectState()
	c.host.state = number
	c.guest.DropState()
	c.host.state = before
}

// Reserve calls Reserve for the node.
func (c *Cycle) Reserve(node string) kubewasp.Status {
	c.plugin.t.Helper()
	return c.annotating("reserve", c.guest.Reserve, node)
}

// Unreserve calls Unreserve for the node.
func (c *Cycle) Unreserve(node string) {
	c.plugin.t.Helper()
	c.notes = nil
	if c.has("unreserve") {
		c.on(node)
		c.guest.Unreserve()
	}
}

// Permit calls Permit for the node, and returns the status and the timeout of a wait.
func (c *Cycle) Permit(node string) (kubewasp.Status, time.Duration) {
	c.plugin.t.Helper()
	if !c.has("permit") {
		return kubewasp.Success(), 0
	}
	c.on(node)
	c.host.reason = ""
	answer := c.guest.Permit()
	return c.made(kubewasp.Code(answer >> 32)), time.Duration(answer&math.MaxUint32) * time.Millisecond
}

// PreBind calls PreBind for the node.
func (c *Cycle) PreBind(node string) kubewasp.Status {
	c.plugin.t.Helper()
	return c.annotating("prebind", c.guest.PreBind, node)
}

// Bind calls Bind for the node.
func (c *Cycle) Bind(node string) kubewasp.Status { return c.onNode("bind", c.guest.Bind, node) }

// PostBind calls PostBind for the node.
func (c *Cycle) PostBind(node string) {
	c.plugin.t.Helper()
	if c.has("postbind") {
		c.on(node)
		c.guest.PostBind()
	}
}

// Annotations returns the annotations of successful calls of Reserve and PreBind; nil without any.
func (c *Cycle) Annotations() map[string]string { return maps.Clone(c.notes) }

// annotating calls a hook that may annotate the pod.
func (c *Cycle) annotating(name string, hook func() int32, node string) kubewasp.Status {
	c.plugin.t.Helper()
	c.host.annotates, c.host.sentNotes = true, nil
	status := c.onNode(name, hook, node)
	c.host.annotates = false
	if status.IsSuccess() && len(c.host.sentNotes) > 0 {
		if c.notes == nil {
			c.notes = map[string]string{}
		}
		maps.Copy(c.notes, c.host.sentNotes)
	}
	return status
}

// onNode calls a hook for a node. A missing hook succeeds.
func (c *Cycle) onNode(name string, hook func() int32, node string) kubewasp.Status {
	c.plugin.t.Helper()
	if !c.has(name) {
		return kubewasp.Success()
	}
	c.on(node)
	return c.status(hook)
}
