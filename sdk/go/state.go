package kubewasp

// CycleState holds a plugin's values for one pod between hooks. Read and write it with a StateKey.
//
// Preemption trials work on copies: a value with a Clone method is cloned, other values are shared between the copies. A
// value that AddPod or RemovePod change in place, such as a map, therefore needs a Clone method.
type CycleState struct {
	values []any
}

// StateKey identifies a value of type T in the cycle state. Create it once, as a package variable:
//
//	var wanted = kubewasp.NewStateKey[int]()
type StateKey[T any] struct {
	place int
}

// cloners has one function per key.
var cloners []func(any) any

// NewStateKey returns a new, unique key.
func NewStateKey[T any]() StateKey[T] {
	cloners = append(cloners, func(value any) any {
		if cloneable, ok := value.(interface{ Clone() T }); ok {
			return cloneable.Clone()
		}
		return value
	})
	return StateKey[T]{len(cloners) - 1}
}

// Set stores the value.
func (k StateKey[T]) Set(state *CycleState, value T) {
	for len(state.values) <= k.place {
		state.values = append(state.values, nil)
	}
	state.values[k.place] = value
}

// Get returns the value; the zero value if none is set for this pod.
func (k StateKey[T]) Get(state *CycleState) T {
	value, _ := k.Lookup(state)
	return value
}

// Lookup returns the value, and whether it is set for this pod.
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

// reset removes all values and keeps the memory.
func (s *CycleState) reset() {
	clear(s.values)
}
