package kubewasp

import (
	"iter"
	"time"
)

// Handle is the scheduler's interface for a plugin. The plugin's constructor receives it and should keep it.
type Handle struct {
	// Log writes to the scheduler's log, or to the sink of Log.Replace.
	Log Logger

	guest         *guest
	signature     uint64
	normalization *Normalization
	pure          bool
}

// Now returns the time of the scheduler's clock, which is simulated in a simulation. Use it instead of time.Now.
func (h *Handle) Now() time.Time { return time.Unix(0, h.guest.host.Now()).UTC() }

// Config returns the plugin's configuration (guestConfig) as text. DecodeConfig decodes it as JSON.
func (h *Handle) Config() string { return string(h.guest.read(h.guest.host.Config)) }

// Resource returns an extended resource, e.g. "nvidia.com/gpu". Call it once, in the constructor of the plugin. The limit
// is 64 different resources per guest.
func (h *Handle) Resource(name string) Resource {
	number := h.guest.host.Resource(name)
	if number < 0 {
		return Resource{name: name}
	}
	h.guest.resources = max(h.guest.resources, number+1)
	return Resource{int32(number + 1), name}
}

// SignAllPods declares that the results of Filter and Score depend on the Node object only, for all pods. The plugin is
// then called for changed nodes only. Call it in the constructor of the plugin. See Signature.
func (h *Handle) SignAllPods() { h.signature = 1 }

// Nodes iterates over all nodes of the cluster.
func (h *Handle) Nodes() iter.Seq[*NodeInfo] {
	return func(yield func(*NodeInfo) bool) {
		for row := range h.guest.host.NodeRows() {
			if info := h.guest.nodeInfo(row); len(info.numbers) > 0 && !yield(info) {
				return
			}
		}
	}
}

// Node returns the node with this name, or nil.
func (h *Handle) Node(name string) *NodeInfo {
	row := h.guest.host.NodeRow(name)
	if row < 0 {
		return nil
	}
	return h.guest.nodeInfo(row)
}

// Annotate annotates the pod with its binding: choice and binding are one request. For Reserve and PreBind only; in other
// hooks it is an error. Annotations count if the hook succeeds and the pod is bound. Two plugins must not give one key
// different values. A key is a qualified name such as "example.com/gpu-index"; the limits are 64 annotations per hook and
// 256 KiB per pod.
func (h *Handle) Annotate(key, value string) { h.guest.host.SendAnnotation(key, value) }

// WaitingPods returns the pods that wait at Permit, each with its NodeName.
func (h *Handle) WaitingPods() []*Pod { return podsOf(h.guest.read(h.guest.host.WaitingPods)) }

// GetWaitingPod returns the pod that waits at Permit under this uid, or nil.
func (h *Handle) GetWaitingPod(uid string) *Pod {
	for _, pod := range h.WaitingPods() {
		if pod.UID() == uid {
			return pod
		}
	}
	return nil
}

// AllowWaitingPod allows a waiting pod on behalf of this plugin, effective when the hook returns. It reports whether the
// pod was waiting.
func (h *Handle) AllowWaitingPod(uid string) bool { return h.guest.host.AllowWaitingPod(uid) }

// RejectWaitingPod rejects a waiting pod, effective when the hook returns. It reports whether the pod was waiting.
func (h *Handle) RejectWaitingPod(uid, reason string) bool {
	return h.guest.host.RejectWaitingPod(uid, reason)
}
