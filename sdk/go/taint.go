package kubewasp

import "time"

// Effects of a taint.
const (
	NoSchedule       = "NoSchedule"
	PreferNoSchedule = "PreferNoSchedule"
	NoExecute        = "NoExecute"
)

// Taint is a taint of a node, which repels pods without a matching toleration.
type Taint struct {
	Key       string
	Value     string
	Effect    string
	TimeAdded time.Time
}

// Toleration is a toleration of a pod for matching taints.
type Toleration struct {
	Key      string
	Operator string // "Equal" (also if empty) or "Exists"
	Value    string
	Effect   string // empty: all
	// Seconds is the time until eviction after the taint is added; nil: never.
	Seconds *int64
}

// Tolerates reports whether the toleration matches the taint.
func (t *Toleration) Tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case "", "Equal":
		return t.Value == taint.Value
	case "Exists":
		return true
	}
	return false
}

func tolerationsOf(spec Message) []Toleration {
	tolerations := make([]Toleration, 0, spec.count(podSpecTolerations))
	for sent := range spec.Subs(podSpecTolerations) {
		toleration := Toleration{Key: sent.Text(1), Operator: sent.Text(2), Value: sent.Text(3), Effect: sent.Text(4)}
		if sent.Has(5) {
			seconds := sent.Int(5)
			toleration.Seconds = &seconds
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}

func taintsOf(spec Message) []Taint {
	taints := make([]Taint, 0, spec.count(nodeSpecTaints))
	for taint := range spec.Subs(nodeSpecTaints) {
		taints = append(taints, Taint{taint.Text(1), taint.Text(2), taint.Text(3), taint.Time(4)})
	}
	return taints
}
