package kubewasp

import "time"

// Extension points of the scheduling framework. A plugin is one value that implements some of them; Register detects
// which. For a compile-time check of a method, write
//
//	var _ kubewasp.Filter = (*MyPlugin)(nil)

// ---------------------------------------------------------------------- queue

// EnqueueExtensions returns the cluster events that may make a pod schedulable after a rejection by this plugin. Default:
// all events.
type EnqueueExtensions interface {
	EventsToRegister() []ClusterEvent
}

// QueueingHint decides whether a change may make this pod schedulable. Default: every registered event may.
type QueueingHint interface {
	QueueingHint(pod *Pod, change *Change) Hint
}

// PreEnqueue runs before a pod enters the queue; a rejected pod stays gated.
type PreEnqueue interface {
	PreEnqueue(pod *Pod) Status
}

// QueueSort orders the queue; exactly one plugin of a profile implements it. The key is computed each time a pod is queued.
type QueueSort interface {
	SortKey(pod *Pod, queuedAt time.Time) Key
}

// ---------------------------------------------------------------------- scheduling cycle

// PreFilter runs once per pod, before Filter. It may return the names of the candidate nodes; nil means all. Skip: no
// Filter of this plugin for the pod.
type PreFilter interface {
	PreFilter(state *CycleState, pod *Pod) (nodes []string, status Status)
}

// PreFilterExtensions updates the state written by PreFilter in preemption trials, which add pods to a node or remove
// them.
type PreFilterExtensions interface {
	AddPod(state *CycleState, pod, added *Pod, node *NodeInfo) Status
	RemovePod(state *CycleState, pod, removed *Pod, node *NodeInfo) Status
}

// Filter decides whether the pod fits on the node.
type Filter interface {
	Filter(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// PostFilter runs if no node is feasible, and may make room.
type PostFilter interface {
	PostFilter(state *CycleState, pod *Pod, statuses *NodeStatuses) (Nomination, Status)
}

// PreScore runs once per pod, before Score, with the feasible nodes. Skip: no Score of this plugin for the pod.
type PreScore interface {
	PreScore(state *CycleState, pod *Pod, nodes *Nodes) Status
}

// Score rates the node; higher is better. The range is 0 to MaxScore, unless the plugin has NormalizeScore.
type Score interface {
	Score(state *CycleState, pod *Pod, node *NodeInfo) (int64, Status)
}

// NormalizeScore normalizes the scores of all nodes in place.
type NormalizeScore interface {
	NormalizeScore(state *CycleState, pod *Pod, scores *NodeScores) Status
}

// MaxScore is the maximum score of a node.
const MaxScore = 100

// Signature lets the scheduler share results between similar pods. All pods with the same signature must have the same
// results of Filter and Score while the Node object is unchanged, independent of the pods on the node and of the time. 0
// means no sharing. NewHasher builds signatures. See also Handle.SignAllPods.
//
// Pods are signed in advance, several at a time: SignPod must not read nodes.
type Signature interface {
	SignPod(pod *Pod) uint64
}

// ---------------------------------------------------------------------- binding

// Reserve runs when the node is selected for the pod.
type Reserve interface {
	Reserve(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// Unreserve reverts Reserve when the pod is not bound after all.
type Unreserve interface {
	Unreserve(state *CycleState, pod *Pod, node *NodeInfo)
}

// Permit approves, rejects or delays the binding. With Wait, the pod waits for Handle.AllowWaitingPod or
// Handle.RejectWaitingPod, up to the given timeout. Memory is not shared between pods: Handle.WaitingPods returns the
// other waiting pods.
type Permit interface {
	Permit(state *CycleState, pod *Pod, node *NodeInfo) (Status, time.Duration)
}

// PreBind runs immediately before the binding.
type PreBind interface {
	PreBind(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// Bind binds the pod to its node, or returns Skip for the next bind plugin.
type Bind interface {
	Bind(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// PostBind runs after the binding.
type PostBind interface {
	PostBind(state *CycleState, pod *Pod, node *NodeInfo)
}

// ---------------------------------------------------------------------- results

// Hint is a decision about a rejected pod after a change of the cluster.
type Hint int32

// Results of QueueingHint.
const (
	QueueSkip Hint = iota // the pod stays rejected
	Queue                 // the pod is tried again
)

// Nomination is a result of PostFilter. The zero value keeps an earlier nomination.
type Nomination struct {
	override bool
	node     string
}

// Nominate nominates a node for the pod, which fits there once there is room.
func Nominate(node string) Nomination { return Nomination{true, node} }

// ClearNomination clears the nomination of the pod.
func ClearNomination() Nomination { return Nomination{true, ""} }

// Node returns the nominated node, and whether the nomination changes.
func (n Nomination) Node() (name string, changes bool) { return n.node, n.override }
