package kubewasp

import (
	"iter"
	"time"
)

// Handle is what a plugin may ask of the scheduler. It is given to the function that makes the plugin; keep it.
type Handle struct {
	// Log writes to the scheduler's log.
	Log Logger

	guest     *guest
	signature uint64
}

// Now is the time by the scheduler's clock, which is simulated in a simulation: use it instead of time.Now.
func (h *Handle) Now() time.Time { return time.Unix(0, h.guest.host.Now()).UTC() }

// Config is the plugin's configuration (guestConfig) as it is written there. DecodeConfig reads it as JSON.
func (h *Handle) Config() string { return string(h.guest.read(h.guest.host.Config)) }

// Resource is an extended resource, e.g. "nvidia.com/gpu". Ask once, when the plugin is made. A guest can ask for at
// most 64 different ones.
func (h *Handle) Resource(name string) Resource {
	number := h.guest.host.Resource(name)
	if number < 0 {
		return Resource{name: name}
	}
	h.guest.resources = max(h.guest.resources, number+1)
	return Resource{int32(number + 1), name}
}

// SignAllPods promises, when the plugin is made, that all pods get the same answers of Filter and Score for as long as the
// Node object stays the same. The plugin is then asked again only about nodes that changed. See Signature.
func (h *Handle) SignAllPods() { h.signature = 1 }

// Nodes goes through all nodes of the cluster.
func (h *Handle) Nodes() iter.Seq[*NodeInfo] {
	return func(yield func(*NodeInfo) bool) {
		for row := range h.guest.host.NodeRows() {
			if info := h.guest.nodeInfo(row); len(info.numbers) > 0 && !yield(info) {
				return
			}
		}
	}
}

// Node is the node of that name; nil if there is none.
func (h *Handle) Node(name string) *NodeInfo {
	row := h.guest.host.NodeRow(name)
	if row < 0 {
		return nil
	}
	return h.guest.nodeInfo(row)
}

// WaitingPods are the pods that wait for permission, each with its NodeName.
func (h *Handle) WaitingPods() []*Pod { return podsOf(h.guest.read(h.guest.host.WaitingPods)) }

// AllowWaitingPod says that this plugin no longer holds the pod back. It takes effect when the hook has returned; the
// result says whether the pod was waiting.
func (h *Handle) AllowWaitingPod(uid string) bool { return h.guest.host.AllowWaitingPod(uid) }

// RejectWaitingPod turns a waiting pod down. It takes effect when the hook has returned; the result says whether the pod
// was waiting.
func (h *Handle) RejectWaitingPod(uid, reason string) bool {
	return h.guest.host.RejectWaitingPod(uid, reason)
}
