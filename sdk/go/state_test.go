package kubewasp

import (
	"maps"
	"testing"
)

type counts map[string]int

func (c counts) Clone() counts { return maps.Clone(c) }

var (
	numberKey = NewStateKey[int]()
	textKey   = NewStateKey[string]()
	countsKey = NewStateKey[counts]()
	sharedKey = NewStateKey[map[string]int]()
)

func TestAValueIsReadAsItWasWritten(t *testing.T) {
	state := new(CycleState)
	numberKey.Set(state, 7)
	textKey.Set(state, "x")
	if numberKey.Get(state) != 7 || textKey.Get(state) != "x" {
		t.Error("the values have changed")
	}
	numberKey.Delete(state)
	if _, found := numberKey.Lookup(state); found {
		t.Error("a deleted value is there")
	}
}

func TestAValueThatWasNotSetIsZero(t *testing.T) {
	state := new(CycleState)
	if value, found := textKey.Lookup(state); found || value != "" {
		t.Errorf("got %q", value)
	}
	countsKey.Set(state, nil)
	if textKey.Get(state) != "" {
		t.Error("setting one value has set another")
	}
}

func TestACloneHasItsOwnValues(t *testing.T) {
	state := new(CycleState)
	numberKey.Set(state, 1)
	countsKey.Set(state, counts{"a": 1})
	sharedKey.Set(state, map[string]int{"a": 1})
	copied := state.clone()

	numberKey.Set(copied, 2)
	countsKey.Get(copied)["a"] = 2
	sharedKey.Get(copied)["a"] = 2

	if numberKey.Get(state) != 1 {
		t.Error("the number has changed")
	}
	if countsKey.Get(state)["a"] != 1 {
		t.Error("a value with Clone is shared")
	}
	if sharedKey.Get(state)["a"] != 2 {
		t.Error("a value without Clone is not shared")
	}
}
