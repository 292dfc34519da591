package kubewasp

// CycleState carries a plugin's values for one pod from hook to hook. Read and write it with a StateKey.
//
// When the scheduler tries what would happen if other pods came or went (preemption), it works with copies: a value that
// has a method Clone is cloned, any other is shared between the copies. So a value that AddPod or RemovePod change in
// place, e.g. a map, must have Clone.
type CycleState struct {
	values []any
}

// StateKey names a value of the type T in the cycle state. Make it once, as a package variable:
//
//	var wanted = kubewasp.NewStateKey[int]()
type StateKey[T any] struct {
	place int
}

// cloners has a function for each key ever made.
var cloners []func(any) any

// NewStateKey makes a key that is different from all others.
func NewStateKey[T any]() StateKey[T] {
	cloners = append(cloners, func(value any) any {
		if cloneable, ok := value.(interface{ Clone() T }); ok {
			return cloneable.Clone()
		}
		return value
	})
	return StateKey[T]{len(cloners) - 1}
}

// Set writes the value.
func (k StateKey[T]) Set(state *CycleState, value T) {
	for len(state.values) <= k.place {
		state.values = append(state.values, nil)
	}
	state.values[k.place] = value
}

// Get is the value; the zero value of its type if none was set for this pod.
func (k StateKey[T]) Get(state *CycleState) T {
	value, _ := k.Lookup(state)
	return value
}

// Lookup is the value, and whether it was set for this pod.
func (k StateKey[T]) Lookup(state *CycleState) (T, bool) {
	if k.place < len(state.values) {
		value, ok := state.values[k.place].(T)
		return value, ok
	}
	var none T
	return none, false
}

// Delete removes the value.
func (k StateKey[T]) Delete(state *CycleState) {
	if k.place < len(state.values) {
		state.values[k.place] = nil
	}
}

func (s *CycleState) clone() *CycleState {
	values := make([]any, len(s.values))
	for place, value := range s.values {
		if value != nil {
			values[place] = cloners[place](value)
		}
	}
	return &CycleState{values}
}

// reset forgets all values and keeps the memory.
func (s *CycleState) reset() {
	clear(s.values)
}
