// This program runs a guest of the classic ABI on wazero and prints what its scheduling cycles cost. It stands in for
// other hosts that are written in Go only in this: Go, wazero, and one call of the guest for each node and hook.
package main

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"kubewasp.dev/bench/report"
)

const (
	success = 0
	skip    = 5
)

func main() {
	report.Main(newHost)
}

func newHost(nodes []*corev1.Node, pods []*corev1.Pod) report.Peer {
	host := &host{nodes: nodes, pods: pods, places: make(map[string]int, len(nodes))}
	for place, node := range nodes {
		host.places[node.Name] = place
	}
	host.codes = make([]int64, 0, len(nodes))
	host.scores = make([]int64, 0, len(nodes))
	host.feasible = make([]*corev1.Node, 0, len(nodes))
	return host
}

// host has the inputs of the current guest call. One instance, one thread: nothing is locked, and nothing
// is made twice that can be kept.
type host struct {
	nodes  []*corev1.Node
	pods   []*corev1.Pod
	places map[string]int
	guest  *guest

	pod      encoded[*corev1.Pod]
	asked    encoded[*corev1.Node] // the node that the guest asked for by its name
	list     encoded[*corev1.NodeList]
	node     string // the node of filter and score
	feasible []*corev1.Node
	byName   []byte // what filteredNodeList or nodeScoreList answer in this call

	reason     string
	normalized []byte
	narrowed   bool
	codes      []int64
	scores     []int64
}

func (h *host) Load(path string) error {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	h.guest, err = load(h, wasm)
	return err
}

func (h *host) GuestMemory() uint64 {
	return uint64(h.guest.module.Memory().Size())
}

// Cycle calls the hooks that the guest has, in the order of the scheduling framework.
func (h *host) Cycle(pod int) (*report.Answers, error) {
	h.pod.set(h.pods[pod])
	h.codes, h.scores, h.feasible = h.codes[:0], h.scores[:0], h.feasible[:0]
	skipFilter := false
	if h.guest.prefilter != nil {
		h.narrowed = false
		code, err := h.status(h.guest.prefilter)
		if err == nil && h.narrowed {
			err = fmt.Errorf("a guest that picks nodes in prefilter is not measured here")
		}
		if err != nil {
			return nil, err
		}
		skipFilter = code == skip
	}
	if h.guest.filter == nil || skipFilter {
		h.feasible = append(h.feasible, h.nodes...)
	} else if err := h.filter(); err != nil {
		return nil, err
	}
	if err := h.score(); err != nil {
		return nil, err
	}
	return &report.Answers{Codes: h.codes, Scores: h.scores}, nil
}

func (h *host) filter() error {
	for _, node := range h.nodes {
		h.node = node.Name
		value, err := h.guest.call(h.guest.filter)
		if err != nil {
			return err
		}
		code := int64(int32(value))
		h.codes = append(h.codes, code)
		if code == success {
			h.feasible = append(h.feasible, node)
		}
	}
	return nil
}

func (h *host) score() error {
	if h.guest.prescore != nil && len(h.feasible) > 0 {
		h.byName = nil
		code, err := h.status(h.guest.prescore)
		if err != nil || code == skip {
			return err
		}
	}
	if h.guest.score == nil {
		return nil
	}
	for _, node := range h.feasible {
		h.node = node.Name
		value, err := h.guest.call(h.guest.score)
		if err != nil {
			return err
		}
		if code := int32(value); code != success {
			return fmt.Errorf("score of %s: status %d: %s", node.Name, code, h.reason)
		}
		h.scores = append(h.scores, int64(value)>>32)
	}
	if h.guest.normalizescore == nil {
		return nil
	}
	h.byName, h.normalized = nil, nil
	if _, err := h.status(h.guest.normalizescore); err != nil {
		return err
	}
	return h.takeNormalized()
}

// status calls a hook that is called once a pod; Skip is fine, other codes are not measured.
func (h *host) status(hook *hook) (int32, error) {
	h.node = ""
	value, err := h.guest.call(hook)
	if err != nil {
		return 0, err
	}
	code := int32(value)
	if code != success && code != skip {
		return code, fmt.Errorf("%s: status %d: %s", hook.name, code, h.reason)
	}
	return code, nil
}
