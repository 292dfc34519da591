// Package report runs the scheduling cycles of a peer and prints what they cost, so that all peers are measured alike.
package report

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Peer is a host that runs one guest for many pods.
type Peer interface {
	// Load makes a guest ready to be called; the time it takes is reported.
	Load(guest string) error
	// Cycle asks the guest about one pod and all nodes, as a scheduler does; what it returns is good until the next.
	Cycle(pod int) (*Answers, error)
	// GuestMemory is the size of the guest's memory in bytes, 0 where the peer does not tell.
	GuestMemory() uint64
}

// Answers is what the guest said in one cycle: a code of filter, if it has that, and a score for each node.
type Answers struct {
	Codes  []int64
	Scores []int64
}

type document struct {
	Go          string    `json:"go"`
	LoadSeconds float64   `json:"load_seconds"`
	FirstMicros float64   `json:"first_cycle_us"`
	Micros      []float64 `json:"cycles_us"`
	Checksum    string    `json:"checksum"`
	GuestMemory uint64    `json:"guest_memory_bytes"`
	Resident    uint64    `json:"resident_growth_bytes"`
}

// Main reads the command line, measures the peer and prints one JSON document. Nodes and pods are read from their files
// before anything is measured.
func Main[Node, Pod any](newPeer func(nodes []*Node, pods []*Pod) Peer) {
	guest := flag.String("guest", "", "the guest's wasm file")
	nodesFile := flag.String("nodes", "", "a JSON file with a list of nodes")
	podsFile := flag.String("pods", "", "a JSON file with a list of pods, which are asked about by turns")
	count := flag.Int("count", 0, "how many of the nodes to use, 0 for all")
	cycles := flag.Int("cycles", 10, "how many cycles to run after the first")
	flag.Parse()
	if err := run(newPeer, *guest, *nodesFile, *podsFile, *count, *cycles); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run[Node, Pod any](
	newPeer func([]*Node, []*Pod) Peer, guest, nodesFile, podsFile string, count, cycles int,
) error {
	nodes, err := read[Node](nodesFile)
	if err != nil {
		return err
	}
	if count > len(nodes) {
		return fmt.Errorf("%s has only %d nodes", nodesFile, len(nodes))
	}
	if count > 0 {
		nodes = nodes[:count:count]
	}
	pods, err := read[Pod](podsFile)
	if err != nil {
		return err
	}
	if len(nodes) == 0 || len(pods) == 0 {
		return fmt.Errorf("there must be a node and a pod at least")
	}
	peer := newPeer(nodes, pods)
	debug.FreeOSMemory()
	before := resident()

	began := time.Now()
	if err := peer.Load(guest); err != nil {
		return err
	}
	result := document{Go: runtime.Version(), LoadSeconds: time.Since(began).Seconds()}
	sum := sha256.New()
	for number := 0; number <= cycles; number++ {
		began := time.Now()
		answers, err := peer.Cycle(number % len(pods))
		spent := float64(time.Since(began).Nanoseconds()) / 1e3
		if err != nil {
			return err
		}
		if number == 0 {
			result.FirstMicros = spent
		} else {
			result.Micros = append(result.Micros, spent)
		}
		add(sum, answers.Codes)
		add(sum, answers.Scores)
	}
	result.Checksum = hex.EncodeToString(sum.Sum(nil))
	result.GuestMemory = peer.GuestMemory()
	if after := resident(); after > before {
		result.Resident = after - before
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func read[Object any](path string) ([]*Object, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []*Object
	if err := json.Unmarshal(content, &objects); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return objects, nil
}

func add(sum hash.Hash, values []int64) {
	buffer := make([]byte, 0, 8*len(values))
	for _, value := range values {
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(value))
	}
	sum.Write(buffer)
}

// resident is the memory that this process occupies, 0 where the system has no file that tells.
func resident() uint64 {
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, pages uint64
	if _, err := fmt.Sscan(string(content), &total, &pages); err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
