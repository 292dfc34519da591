package kubewasp

import "iter"

// Nodes is the list of feasible nodes, in scoring order.
type Nodes struct {
	guest *guest
	rows  []int32
	read  bool
}

func (n *Nodes) load() []int32 {
	if !n.read {
		n.rows = readNumbers(n.rows, n.guest.host.FeasibleRows)
		n.read = true
	}
	return n.rows
}

// Len returns the number of nodes.
func (n *Nodes) Len() int { return len(n.load()) }

// At returns a node by index.
func (n *Nodes) At(place int) *NodeInfo { return n.guest.nodeInfo(int(n.load()[place])) }

// All iterates over the nodes.
func (n *Nodes) All() iter.Seq[*NodeInfo] {
	return func(yield func(*NodeInfo) bool) {
		for _, row := range n.load() {
			if !yield(n.guest.nodeInfo(int(row))) {
				return
			}
		}
	}
}

// NodeScores holds the scores of the feasible nodes. NormalizeScore changes Values in place.
type NodeScores struct {
	Values []int64
	// Nodes has the nodes, in the order of Values.
	Nodes *Nodes
}

// Normalize scales the scores to 0 to MaxScore, in proportion to the highest; with reverse, the lowest score is the best.
// Scores below 0 count as 0. If this is all that NormalizeScore does, Handle.NormalizeScores is faster.
func (s *NodeScores) Normalize(reverse bool) {
	proportional(s.Values, MaxScore, 0, reverse)
}

// Stretch scales the scores so that the lowest becomes 0 and the highest MaxScore, or the opposite with reverse. Equal
// scores all become MaxScore.
func (s *NodeScores) Stretch(reverse bool) {
	minMax(s.Values, MaxScore, reverse)
}

// NodeStatuses holds the status codes of the rejected nodes, for PostFilter.
type NodeStatuses struct {
	guest *guest
	pairs []int32
	read  bool
}

func (s *NodeStatuses) load() []int32 {
	if !s.read {
		s.pairs = readNumbers(s.pairs, s.guest.host.NodeStatuses)
		s.read = true
	}
	return s.pairs
}

// Len returns the number of nodes.
func (s *NodeStatuses) Len() int { return len(s.load()) / 2 }

// All iterates over the nodes and their codes.
func (s *NodeStatuses) All() iter.Seq2[*NodeInfo, Code] {
	return func(yield func(*NodeInfo, Code) bool) {
		pairs := s.load()
		for i := 0; i+1 < len(pairs); i += 2 {
			if !yield(s.guest.nodeInfo(int(pairs[i])), Code(pairs[i+1])) {
				return
			}
		}
	}
}

// readNumbers reads a list into the given memory, or into new memory if that is too small.
func readNumbers[N int32 | int64](kept []N, getter func([]N) int) []N {
	kept = kept[:cap(kept)]
	count := getter(kept)
	if count > len(kept) {
		kept = make([]N, count)
		count = getter(kept)
	}
	return kept[:min(count, len(kept))]
}
