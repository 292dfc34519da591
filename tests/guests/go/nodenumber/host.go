package main

import "unsafe"

// A string parameter crosses as address and length.

//go:wasmimport k8s.io/scheduler currentPod
func hostCurrentPod(buffer unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler currentNodeName
func hostCurrentNodeName(buffer unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler get_config
func hostConfig(buffer unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler nodeToStatusMap
func hostNodeToStatusMap(buffer unsafe.Pointer, limit uint32) uint32

//go:wasmimport k8s.io/scheduler result.cluster_events
func hostClusterEvents(events unsafe.Pointer, length uint32)

//go:wasmimport k8s.io/scheduler result.nominated_node_name
func nominate(node string)

//go:wasmimport k8s.io/scheduler result.status_reason
func statusReason(text string)

//go:wasmimport k8s.io/klog log
func klog(severity uint32, message string)

var buffer = make([]byte, 2048)

// read asks a getter for its value. What it returns is good until the next read.
func read(getter func(unsafe.Pointer, uint32) uint32) []byte {
	length := getter(unsafe.Pointer(&buffer[0]), uint32(len(buffer)))
	if int(length) > len(buffer) { // nothing was written: make room, ask again
		buffer = make([]byte, length)
		length = getter(unsafe.Pointer(&buffer[0]), length)
	}
	return buffer[:length]
}

func currentPod() []byte      { return read(hostCurrentPod) }
func currentNodeName() []byte { return read(hostCurrentNodeName) }
func config() []byte          { return read(hostConfig) }
func nodeToStatusMap() []byte { return read(hostNodeToStatusMap) }

// event is a cluster event as it crosses: resource, action bits.
type event struct{ resource, actions uint32 }

func clusterEvents(events []event) {
	hostClusterEvents(unsafe.Pointer(&events[0]), uint32(len(events)*int(unsafe.Sizeof(events[0]))))
}
