//go:build !wasip1

// Package host is the interface of the scheduler. In a guest it consists of imports of the wasm module, in a native test
// of an interface with a fake implementation.
package host

// Host has one method per imported function. Getters return the full length and write values only as a whole; NodeInfo and
// PodRequests write as much as fits.
type Host interface {
	Config(buf []byte) int
	CurrentPod(buf []byte) int
	TargetPod(buf []byte) int
	CurrentNodeName(buf []byte) int
	SendClusterEvents(pairs []int32)
	SendNodeNames(names []byte)
	SendNominatedNode(name string)
	SendReason(text string)
	SendHint(text string)
	SendAnnotation(key, value string)
	RecordEvent(json []byte)
	LogSeverity() int
	Log(severity int, message string)
	LogPairs(severity int, message string, pairs []byte)
	Implemented(hooks uint32)
	SignPod(signature uint64)
	Normalization(method int32, reverse bool, maximum int32)
	Pure()
	PodRead(metadata uint32, spec uint64, others uint32)
	Now() int64
	Cycle() int
	Resource(name string) int
	PodRequests(numbers []int64)
	AtHand(known *[3]int64) int
	NodeRows() int
	NodeRow(name string) int
	NodeName(row int, buf []byte) int
	NodeObject(row int, buf []byte) int
	NodeInfo(row int, numbers []int64) int
	NodePods(row int, buf []byte) int
	NodeImageStates(name string, buf []byte) int
	FeasibleRows(rows []int32) int
	NodeScores(scores []int64) int
	SendNodeScores(scores []int64)
	NodeStatuses(pairs []int32) int
	SendSortKey(key []byte)
	QueuedAt() int64
	EventResource() int
	EventAction() int
	EventOld(buf []byte) int
	EventNew(buf []byte) int
	State() int
	WaitingPods(buf []byte) int
	AllowWaitingPod(uid string) bool
	RejectWaitingPod(uid, reason string) bool
}
