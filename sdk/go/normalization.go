package kubewasp

import "math"

// Normalization is a normalization of scores by the scheduler itself, without a call of the plugin: declare it with
// Handle.NormalizeScores instead of implementing NormalizeScore.
type Normalization struct {
	Method  NormalizationMethod
	Reverse bool  // the lowest score is the best
	Maximum int32 // score of the best node; 0 means MaxScore
}

// NormalizationMethod is a method of Normalization.
type NormalizationMethod int32

const (
	// KeepScores leaves the scores as they are: they must be from 0 to MaxScore.
	KeepScores NormalizationMethod = iota
	// Proportional makes scores shares of the highest one, rounded down, as DefaultNormalizeScore of kube-scheduler does.
	Proportional
	// MinMax makes the lowest score 0 and the highest the maximum. Equal scores all become the maximum.
	MinMax
)

// NormalizeScores declares the normalization of the plugin's scores. Call it in the constructor of a plugin that implements
// Score and not NormalizeScore.
func (h *Handle) NormalizeScores(normalization Normalization) { h.normalization = &normalization }

func (n Normalization) maximum() int32 {
	if n.Maximum == 0 {
		return MaxScore
	}
	return n.Maximum
}

// Apply normalizes scores in place, as the scheduler does.
func (n Normalization) Apply(scores []int64) {
	switch n.Method {
	case Proportional:
		proportional(scores, int64(n.maximum()), math.MinInt64, n.Reverse)
	case MinMax:
		minMax(scores, int64(n.maximum()), n.Reverse)
	}
}

// proportional counts scores below the lowest as the lowest. Loops are slow in wasm: two, without calls.
func proportional(scores []int64, maximum, lowest int64, reverse bool) {
	var highest int64
	for _, score := range scores {
		if score > highest {
			highest = score
		}
	}
	if highest == 0 && lowest < 0 && !reverse {
		return
	}
	start, sign := int64(0), int64(1)
	if reverse {
		start, sign = maximum, -1
	}
	divisor := max(highest, 1)
	for i, score := range scores {
		if score < lowest {
			score = lowest
		}
		if highest == 0 {
			score = 0
		}
		scores[i] = start + sign*(maximum*score/divisor)
	}
}

func minMax(scores []int64, maximum int64, reverse bool) {
	if len(scores) == 0 {
		return
	}
	lowest, highest := scores[0], scores[0]
	for _, score := range scores {
		lowest, highest = min(lowest, score), max(highest, score)
	}
	for i, score := range scores {
		share := maximum
		if highest > lowest {
			share = shareOf(uint64(score-lowest), uint64(highest-lowest), maximum)
			if reverse {
				share = maximum - share
			}
		}
		scores[i] = share
	}
}

// shareOf returns part of whole, of a maximum, rounded down.
func shareOf(part, whole uint64, maximum int64) int64 {
	if whole <= math.MaxUint64/MaxScore {
		return int64(uint64(maximum) * part / whole)
	}
	return int64(float64(part) / float64(whole) * float64(maximum))
}
