package kubewasp

import "time"

// All extension points of the scheduling framework stand in this file. A plugin is one value that implements those it
// needs; Register finds out which. To have the compiler check that a method is what it should be, write
//
//	var _ kubewasp.Filter = (*MyPlugin)(nil)

// ---------------------------------------------------------------------- queue

// EnqueueExtensions tells which changes of the cluster are worth another try of a pod that this plugin turned down.
// Without it, all are.
type EnqueueExtensions interface {
	EventsToRegister() []ClusterEvent
}

// QueueingHint looks at one change in detail and says whether it can help this pod. Without it, every registered one can.
type QueueingHint interface {
	QueueingHint(pod *Pod, change *Change) Hint
}

// PreEnqueue is asked before a pod enters the queue; a pod that is turned down waits, gated.
type PreEnqueue interface {
	PreEnqueue(pod *Pod) Status
}

// QueueSort orders the queue; exactly one plugin of a profile does. The key is computed once each time the pod is queued.
type QueueSort interface {
	SortKey(pod *Pod, queuedAt time.Time) Key
}

// ---------------------------------------------------------------------- scheduling cycle

// PreFilter looks at the pod and the cluster once, before the nodes. The names narrow down which nodes are looked at;
// nil means all. Skip: the pod needs no Filter of this plugin.
type PreFilter interface {
	PreFilter(state *CycleState, pod *Pod) (nodes []string, status Status)
}

// PreFilterExtensions keeps what PreFilter wrote into the state up to date while the scheduler tries what would happen if
// another pod came to a node or left it.
type PreFilterExtensions interface {
	AddPod(state *CycleState, pod, added *Pod, node *NodeInfo) Status
	RemovePod(state *CycleState, pod, removed *Pod, node *NodeInfo) Status
}

// Filter says whether the node can take the pod.
type Filter interface {
	Filter(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// PostFilter is called when no node passed, and may make room.
type PostFilter interface {
	PostFilter(state *CycleState, pod *Pod, statuses *NodeStatuses) (Nomination, Status)
}

// PreScore looks at the pod and the feasible nodes once. Skip: the pod needs no Score of this plugin.
type PreScore interface {
	PreScore(state *CycleState, pod *Pod, nodes *Nodes) Status
}

// Score ranks the node: larger is better. The final score must be from 0 to MaxScore, unless NormalizeScore brings it there.
type Score interface {
	Score(state *CycleState, pod *Pod, node *NodeInfo) (int64, Status)
}

// NormalizeScore sees all scores and changes them in place.
type NormalizeScore interface {
	NormalizeScore(state *CycleState, pod *Pod, scores *NodeScores) Status
}

// MaxScore is the highest score a node can have.
const MaxScore = 100

// Signature lets the scheduler share answers between pods that are alike. SignPod is a promise: all pods with this
// signature get the same answers of Filter and Score for as long as the Node object stays the same, whatever pods are on
// the node and whatever time it is. 0 promises nothing. NewHasher helps to make one. See also Handle.SignAllPods.
//
// Pods are signed before it is their turn, several at a time: look at the pod, and at no nodes.
type Signature interface {
	SignPod(pod *Pod) uint64
}

// ---------------------------------------------------------------------- binding

// Reserve takes what the pod needs on its node.
type Reserve interface {
	Reserve(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// Unreserve gives back what Reserve took, if the pod does not get there after all.
type Unreserve interface {
	Unreserve(state *CycleState, pod *Pod, node *NodeInfo)
}

// Permit may hold the pod back before it is bound: with Wait, for the given time at most, until Handle.AllowWaitingPod or
// Handle.RejectWaitingPod. Memory is not shared between pods: find out which others wait with Handle.WaitingPods.
type Permit interface {
	Permit(state *CycleState, pod *Pod, node *NodeInfo) (Status, time.Duration)
}

// PreBind prepares what the pod needs before it is bound.
type PreBind interface {
	PreBind(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// Bind binds the pod to its node, or leaves it to another plugin with Skip.
type Bind interface {
	Bind(state *CycleState, pod *Pod, node *NodeInfo) Status
}

// PostBind hears that the pod was bound.
type PostBind interface {
	PostBind(state *CycleState, pod *Pod, node *NodeInfo)
}

// ---------------------------------------------------------------------- what some of them answer

// Hint says what to do with a pod after a change of the cluster.
type Hint int32

// The answers to QueueingHint.
const (
	QueueSkip Hint = iota // the change does not help the pod
	Queue                 // try the pod again
)

// Nomination is what PostFilter did for the pod. The zero value leaves an earlier nomination as it is.
type Nomination struct {
	override bool
	node     string
}

// Nominate says that the pod will fit on that node once there is room.
func Nominate(node string) Nomination { return Nomination{true, node} }

// ClearNomination says that the pod no longer waits for a node.
func ClearNomination() Nomination { return Nomination{true, ""} }

// Node is the nominated node, and whether the nomination changes at all.
func (n Nomination) Node() (name string, changes bool) { return n.node, n.override }
