package kubewasp

import "time"

// Bodies of the exported hooks: read the input, call the plugin, write the result. The numbers are the bits in which the
// plugin declares its hooks; undeclared hooks are never called.
const (
	hookEnqueue = 1 << iota
	hookPreFilter
	hookAddPod
	hookRemovePod
	hookFilter
	hookPostFilter
	hookPreScore
	hookScore
	hookNormalizeScore
	hookReserve
	hookUnreserve
	hookPermit
	hookPreBind
	hookBind
	hookPostBind
	hookPreEnqueue
	hookQueueSort
	hookQueueingHint
	hookCloneState
	hookSelectState
	hookDropState
	hookSignPod
)

// implementation holds the plugin's extension points, each asserted once.
type implementation struct {
	enqueue        EnqueueExtensions
	queueingHint   QueueingHint
	preEnqueue     PreEnqueue
	queueSort      QueueSort
	preFilter      PreFilter
	extensions     PreFilterExtensions
	filter         Filter
	postFilter     PostFilter
	preScore       PreScore
	score          Score
	normalizeScore NormalizeScore
	signature      Signature
	reserve        Reserve
	unreserve      Unreserve
	permit         Permit
	preBind        PreBind
	bind           Bind
	postBind       PostBind
}

// inspect determines the extension points of the plugin.
func (i *implementation) inspect(plugin any) (hooks uint32) {
	has := func(implemented bool, bits uint32) {
		if implemented {
			hooks |= bits
		}
	}
	var ok bool
	i.enqueue, ok = plugin.(EnqueueExtensions)
	has(ok, hookEnqueue)
	i.queueingHint, ok = plugin.(QueueingHint)
	has(ok, hookQueueingHint)
	i.preEnqueue, ok = plugin.(PreEnqueue)
	has(ok, hookPreEnqueue)
	i.queueSort, ok = plugin.(QueueSort)
	has(ok, hookQueueSort)
	i.preFilter, ok = plugin.(PreFilter)
	has(ok, hookPreFilter)
	i.extensions, ok = plugin.(PreFilterExtensions)
	has(ok, hookAddPod|hookRemovePod|hookCloneState|hookSelectState|hookDropState)
	i.filter, ok = plugin.(Filter)
	has(ok, hookFilter)
	i.postFilter, ok = plugin.(PostFilter)
	has(ok, hookPostFilter)
	i.preScore, ok = plugin.(PreScore)
	has(ok, hookPreScore)
	i.score, ok = plugin.(Score)
	has(ok, hookScore)
	i.normalizeScore, ok = plugin.(NormalizeScore)
	has(ok, hookNormalizeScore)
	i.reserve, ok = plugin.(Reserve)
	has(ok, hookReserve)
	i.unreserve, ok = plugin.(Unreserve)
	has(ok, hookUnreserve)
	i.permit, ok = plugin.(Permit)
	has(ok, hookPermit)
	i.preBind, ok = plugin.(PreBind)
	has(ok, hookPreBind)
	i.bind, ok = plugin.(Bind)
	has(ok, hookBind)
	i.postBind, ok = plugin.(PostBind)
	has(ok, hookPostBind)
	i.signature, ok = plugin.(Signature)
	has(ok, hookSignPod)
	return hooks
}

// ---------------------------------------------------------------------- queue

func (g *guest) runEnqueue() {
	g.pairs = g.pairs[:0]
	for _, event := range g.plugin.enqueue.EventsToRegister() {
		g.pairs = append(g.pairs, int32(event.Resource), int32(event.Actions))
	}
	g.host.SendClusterEvents(g.pairs)
}

func (g *guest) runPreEnqueue() int32 {
	return g.answer(g.plugin.preEnqueue.PreEnqueue(g.queuedPod()))
}

func (g *guest) runQueueSort() int32 {
	queuedAt := time.Unix(0, g.host.QueuedAt()).UTC()
	g.host.SendSortKey(g.plugin.queueSort.SortKey(g.queuedPod(), queuedAt).Bytes())
	return int32(CodeSuccess)
}

func (g *guest) runQueueingHint() int32 {
	change := &Change{
		Resource: EventResource(g.host.EventResource()),
		Action:   EventAction(g.host.EventAction()),
		before:   g.read(g.host.EventOld),
		after:    g.read(g.host.EventNew),
	}
	return int32(g.plugin.queueingHint.QueueingHint(g.queuedPod(), change))
}

// queuedPod returns a pod outside of a cycle, valid for one call.
func (g *guest) queuedPod() *Pod {
	return NewPod(g.read(g.host.CurrentPod))
}

// ---------------------------------------------------------------------- state

func (g *guest) runCloneState() {
	g.begin()
	if g.copies == nil {
		g.copies = map[int]*CycleState{}
	}
	g.copies[g.host.State()] = g.state.clone()
}

func (g *guest) runSelectState() {
	g.begin()
	number := g.host.State()
	if number == 0 {
		g.state = &g.first
	} else if kept := g.copies[number]; kept != nil {
		g.state = kept
	}
}

func (g *guest) runDropState() {
	g.begin()
	delete(g.copies, g.host.State())
}

// ---------------------------------------------------------------------- scheduling cycle

func (g *guest) runSignPod() int64 {
	g.begin()
	return int64(g.plugin.signature.SignPod(&g.pod))
}

func (g *guest) runPreFilter() int32 {
	g.begin()
	g.forgetPod()
	nodes, status := g.plugin.preFilter.PreFilter(g.state, &g.pod)
	g.reportReads()
	if nodes != nil && status.IsSuccess() {
		if len(nodes) == 0 { // indistinguishable from all nodes
			return g.answer(Unresolvable("no node is eligible"))
		}
		var names []byte
		for _, name := range nodes {
			names = append(append(names, name...), 0)
		}
		g.host.SendNodeNames(names)
	}
	return g.answer(status)
}

func (g *guest) runAddPod() int32 {
	node := g.beginNode()
	return g.answer(g.plugin.extensions.AddPod(g.state, &g.pod, g.targetPod(), node))
}

func (g *guest) runRemovePod() int32 {
	node := g.beginNode()
	return g.answer(g.plugin.extensions.RemovePod(g.state, &g.pod, g.targetPod(), node))
}

func (g *guest) runFilter() int32 {
	node := g.beginNode()
	status := g.plugin.filter.Filter(g.state, &g.pod, node)
	g.reportReads()
	return g.answer(status)
}

func (g *guest) runPostFilter() int64 {
	g.begin()
	g.statuses.read = false
	nomination, status := g.plugin.postFilter.PostFilter(g.state, &g.pod, &g.statuses)
	mode := int64(0)
	if nomination.override {
		mode = 1
		g.host.SendNominatedNode(nomination.node)
	}
	return mode<<32 | int64(g.answer(status))
}

func (g *guest) runPreScore() int32 {
	g.begin()
	g.feasible.read = false
	status := g.plugin.preScore.PreScore(g.state, &g.pod, &g.feasible)
	g.reportReads()
	return g.answer(status)
}

func (g *guest) runScore() int64 {
	node := g.beginNode()
	score, status := g.plugin.score.Score(g.state, &g.pod, node)
	g.reportReads()
	if score != int64(int32(score)) && status.IsSuccess() {
		status = Failed("a score must fit into 32 bits")
	}
	return score<<32 | int64(uint32(g.answer(status)))
}

func (g *guest) runNormalizeScore() int32 {
	g.begin()
	g.feasible.read = false
	g.scores.Values = readNumbers(g.scores.Values, g.host.NodeScores)
	status := g.plugin.normalizeScore.NormalizeScore(g.state, &g.pod, &g.scores)
	if status.IsSuccess() {
		g.host.SendNodeScores(g.scores.Values)
	}
	return g.answer(status)
}

// ---------------------------------------------------------------------- binding

func (g *guest) runReserve() int32 {
	node := g.beginNode()
	return g.answer(g.plugin.reserve.Reserve(g.state, &g.pod, node))
}

func (g *guest) runUnreserve() {
	node := g.beginNode()
	g.plugin.unreserve.Unreserve(g.state, &g.pod, node)
}

func (g *guest) runPermit() int64 {
	node := g.beginNode()
	status, timeout := g.plugin.permit.Permit(g.state, &g.pod, node)
	const longest = 1<<32 - 1
	millis := min(max((timeout+time.Millisecond-1)/time.Millisecond, 0), longest) // rounded up: a timeout never becomes 0
	return int64(g.answer(status))<<32 | int64(millis)
}

func (g *guest) runPreBind() int32 {
	node := g.beginNode()
	return g.answer(g.plugin.preBind.PreBind(g.state, &g.pod, node))
}

func (g *guest) runBind() int32 {
	node := g.beginNode()
	return g.answer(g.plugin.bind.Bind(g.state, &g.pod, node))
}

func (g *guest) runPostBind() {
	node := g.beginNode()
	g.plugin.postBind.PostBind(g.state, &g.pod, node)
}
