//go:build wasip1

// Package host is what the scheduler answers. In a guest these are imports of the wasm module; in a native test they are
// an interface that a fake implements.
package host

import "unsafe"

// Host calls the functions that the guest imports. It has no content: a guest has one host.
type Host struct{}

// Only pointers and 32-bit numbers, which every Go compiler for wasm supports.

//go:wasmimport k8s.io/scheduler get_config
func getConfig(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler currentPod
func currentPod(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler targetPod
func targetPod(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler currentNodeName
func currentNodeName(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler nodeImageStates
func nodeImageStates(name unsafe.Pointer, length uint32, buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler result.cluster_events
func resultClusterEvents(buf unsafe.Pointer, length uint32)

//go:wasmimport k8s.io/scheduler result.node_names
func resultNodeNames(buf unsafe.Pointer, length uint32)

//go:wasmimport k8s.io/scheduler result.nominated_node_name
func resultNominatedNodeName(buf unsafe.Pointer, length uint32)

//go:wasmimport k8s.io/scheduler result.status_reason
func resultStatusReason(buf unsafe.Pointer, length uint32)

//go:wasmimport kubewasp/v1 result.hint
func resultHint(buf unsafe.Pointer, length uint32)

//go:wasmimport kubewasp/v1 result.annotation
func resultAnnotation(key unsafe.Pointer, keyLength uint32, value unsafe.Pointer, valueLength uint32)

//go:wasmimport k8s.io/scheduler handle.eventrecorder.eventf
func recordEvent(buf unsafe.Pointer, length uint32)

//go:wasmimport k8s.io/klog severity
func klogSeverity() uint32

//go:wasmimport k8s.io/klog log
func klogLog(severity uint32, message unsafe.Pointer, length uint32)

//go:wasmimport k8s.io/klog logs
func klogLogs(severity uint32, message unsafe.Pointer, length uint32, pairs unsafe.Pointer, pairsLength uint32)

//go:wasmimport kubewasp/v1 implemented
func implemented(hooks uint32)

//go:wasmimport kubewasp/v1 pod_signature
func podSignature(low, high uint32)

//go:wasmimport kubewasp/v1 normalization
func normalization(method, reverse, maximum int32)

//go:wasmimport kubewasp/v1 pure
func pure(reports uint32)

//go:wasmimport kubewasp/v1 pod_read
func podRead(metadata, spec, specHigh, others uint32)

//go:wasmimport kubewasp/v1 now
func now() int64

//go:wasmimport kubewasp/v1 cycle
func cycle() int32

//go:wasmimport kubewasp/v1 resource
func resource(name unsafe.Pointer, length uint32) int32

//go:wasmimport kubewasp/v1 pod_requests
func podRequests(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 at_hand
func atHand(known unsafe.Pointer) int32

//go:wasmimport kubewasp/v1 node_rows
func nodeRows() int32

//go:wasmimport kubewasp/v1 node_row
func nodeRow(name unsafe.Pointer, length uint32) int32

//go:wasmimport kubewasp/v1 node_name
func nodeName(row int32, buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 node_object
func nodeObject(row int32, buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 node_info
func nodeInfo(row int32, buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 node_pods
func nodePods(row int32, buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 feasible_rows
func feasibleRows(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 node_scores
func nodeScores(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 result.node_scores
func resultNodeScores(buf unsafe.Pointer, length uint32)

//go:wasmimport kubewasp/v1 node_statuses
func nodeStatuses(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 result.sort_key
func resultSortKey(buf unsafe.Pointer, length uint32)

//go:wasmimport kubewasp/v1 queued_at
func queuedAt() int64

//go:wasmimport kubewasp/v1 event_resource
func eventResource() int32

//go:wasmimport kubewasp/v1 event_action
func eventAction() int32

//go:wasmimport kubewasp/v1 event_old
func eventOld(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 event_new
func eventNew(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 state
func state() int32

//go:wasmimport kubewasp/v1 waiting_pods
func waitingPods(buf unsafe.Pointer, limit uint32) uint32

//go:wasmimport kubewasp/v1 allow_waiting_pod
func allowWaitingPod(uid unsafe.Pointer, length uint32) int32

//go:wasmimport kubewasp/v1 reject_waiting_pod
func rejectWaitingPod(uid unsafe.Pointer, length uint32, reason unsafe.Pointer, reasonLength uint32) int32

//go:wasmimport wasi_snapshot_preview1 proc_exit
func procExit(code int32)

func bytesAt(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

func textAt(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}

func int64sAt(n []int64) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(n)), uint32(len(n)) * 8
}

func int32sAt(n []int32) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(n)), uint32(len(n)) * 4
}

// Exit ends a guest that cannot start; its output is the reason.
func Exit(code int) { procExit(int32(code)) }

func (Host) Config(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(getConfig(at, limit))
}

func (Host) CurrentPod(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(currentPod(at, limit))
}

func (Host) TargetPod(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(targetPod(at, limit))
}

func (Host) CurrentNodeName(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(currentNodeName(at, limit))
}

func (Host) SendClusterEvents(pairs []int32) { resultClusterEvents(int32sAt(pairs)) }
func (Host) SendNodeNames(names []byte)      { resultNodeNames(bytesAt(names)) }
func (Host) SendNominatedNode(name string)   { resultNominatedNodeName(textAt(name)) }
func (Host) SendReason(text string)          { resultStatusReason(textAt(text)) }
func (Host) SendHint(text string)            { resultHint(textAt(text)) }
func (Host) RecordEvent(json []byte)         { recordEvent(bytesAt(json)) }
func (Host) LogSeverity() int                { return int(klogSeverity()) }

func (Host) Log(severity int, message string) {
	at, length := textAt(message)
	klogLog(uint32(severity), at, length)
}

func (Host) SendAnnotation(key, value string) {
	at, length := textAt(key)
	valueAt, valueLength := textAt(value)
	resultAnnotation(at, length, valueAt, valueLength)
}

func (Host) LogPairs(severity int, message string, pairs []byte) {
	at, length := textAt(message)
	pairsAt, pairsLength := bytesAt(pairs)
	klogLogs(uint32(severity), at, length, pairsAt, pairsLength)
}

func (Host) Implemented(hooks uint32)      { implemented(hooks) }
func (Host) SignPod(signature uint64)      { podSignature(uint32(signature), uint32(signature>>32)) }
func (Host) Pure()                         { pure(1) }
func (Host) Now() int64                    { return now() }
func (Host) Cycle() int                    { return int(cycle()) }
func (Host) Resource(name string) int      { return int(resource(textAt(name))) }
func (Host) PodRequests(numbers []int64)   { podRequests(int64sAt(numbers)) }
func (Host) AtHand(known *[3]int64) int    { return int(atHand(unsafe.Pointer(known))) }
func (Host) NodeRows() int                 { return int(nodeRows()) }
func (Host) NodeRow(name string) int       { return int(nodeRow(textAt(name))) }
func (Host) SendNodeScores(scores []int64) { resultNodeScores(int64sAt(scores)) }
func (Host) SendSortKey(key []byte)        { resultSortKey(bytesAt(key)) }
func (Host) QueuedAt() int64               { return queuedAt() }
func (Host) EventResource() int            { return int(eventResource()) }
func (Host) EventAction() int              { return int(eventAction()) }
func (Host) State() int                    { return int(state()) }

func (Host) NodeName(row int, buf []byte) int {
	at, limit := bytesAt(buf)
	return int(nodeName(int32(row), at, limit))
}

func (Host) NodeObject(row int, buf []byte) int {
	at, limit := bytesAt(buf)
	return int(nodeObject(int32(row), at, limit))
}

func (Host) Normalization(method int32, reverse bool, maximum int32) {
	reversed := int32(0)
	if reverse {
		reversed = 1
	}
	normalization(method, reversed, maximum)
}

// PodRead reports fields of the pod that the plugin has read: bits by the numbers of the fields.
func (Host) PodRead(metadata uint32, spec uint64, others uint32) {
	podRead(metadata, uint32(spec), uint32(spec>>32), others)
}

// NodeInfo writes as many numbers as fit and returns their total count.
func (Host) NodeInfo(row int, numbers []int64) int {
	at, limit := int64sAt(numbers)
	return int(nodeInfo(int32(row), at, limit)) / 8
}

func (Host) NodePods(row int, buf []byte) int {
	at, limit := bytesAt(buf)
	return int(nodePods(int32(row), at, limit))
}

func (Host) NodeImageStates(name string, buf []byte) int {
	nameAt, length := textAt(name)
	at, limit := bytesAt(buf)
	return int(nodeImageStates(nameAt, length, at, limit))
}

func (Host) FeasibleRows(rows []int32) int {
	at, limit := int32sAt(rows)
	return int(feasibleRows(at, limit)) / 4
}

func (Host) NodeScores(scores []int64) int {
	at, limit := int64sAt(scores)
	return int(nodeScores(at, limit)) / 8
}

func (Host) NodeStatuses(pairs []int32) int {
	at, limit := int32sAt(pairs)
	return int(nodeStatuses(at, limit)) / 4
}

func (Host) EventOld(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(eventOld(at, limit))
}

func (Host) EventNew(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(eventNew(at, limit))
}

func (Host) WaitingPods(buf []byte) int {
	at, limit := bytesAt(buf)
	return int(waitingPods(at, limit))
}

func (Host) AllowWaitingPod(uid string) bool { return allowWaitingPod(textAt(uid)) != 0 }

func (Host) RejectWaitingPod(uid, reason string) bool {
	at, length := textAt(uid)
	reasonAt, reasonLength := textAt(reason)
	return rejectWaitingPod(at, length, reasonAt, reasonLength) != 0
}
