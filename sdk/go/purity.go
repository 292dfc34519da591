package kubewasp

// Pure declares that PreFilter, Filter, PreScore and Score depend on the pod, the configuration and the node at hand with
// its pods, and on nothing else. The scheduler then calls them again for nodes that have changed since they were called for
// an equal pod: mostly for the one node that the previous pod is on. Pods are equal if all fields are that the plugin has
// read. Call it in the constructor of the plugin.
//
// A plugin is not pure if one of these methods reads other nodes, the list of nodes of PreScore, waiting pods, the time,
// random numbers, or variables that other hooks change. Name and UID of the pod, also in a log line, make every pod different.
// `kubewasp plugin test` compares the answers with those of a plugin that is asked each time.
func (h *Handle) Pure() { h.pure = true }

// podFields are fields of the current pod, by their numbers.
type podFields struct {
	metadata, others uint32
	spec             uint64
}

// Bits of podFields.others.
const (
	readRequests = 1 << iota
	readStatus
	readObject
)

// reportReads tells the scheduler which fields of the pod a pure plugin has read, before the result of the hook.
func (g *guest) reportReads() {
	if g.reads != g.reported && g.handle.pure {
		g.reported = g.reads
		g.host.PodRead(g.reads.metadata, g.reads.spec, g.reads.others)
	}
}
