package kubewasp

import (
	"iter"
	"strings"
	"unsafe"
)

// Map is a small read-only map with string keys: labels, annotations, a node selector, quantities by resource. It is a
// view of the encoded object with a cache of the latest lookups: a repeated lookup with the same string, such as a
// constant or a configured one, needs no search.
type Map[V ~string] struct {
	entries *entries[V]
}

// entries are the fields of a message that form a map. They stay encoded: decoded strings of all nodes would be most of
// the garbage collector's work.
type entries[V ~string] struct {
	message    Message
	field      int
	quantities bool // values are Quantity messages
	next       uint8
	asked      [4]answer[V]
	keys       *keyTable
}

type answer[V ~string] struct {
	at    uintptr // address of the key in the lookup
	key   string  // a copy
	value V
	found bool
}

// Get returns the value of a key; empty if it is missing.
func (m Map[V]) Get(key string) V {
	value, _ := m.Lookup(key)
	return value
}

// Lookup returns the value of a key, and whether it exists. HOT PATH: called for every node; loops are slow in wasm.
func (m Map[V]) Lookup(key string) (V, bool) {
	e, at := m.entries, address(key)
	switch {
	case e == nil:
		return "", false
	case e.asked[0].at == at && e.asked[0].key == key:
		return e.asked[0].value, e.asked[0].found
	case e.asked[1].at == at && e.asked[1].key == key:
		return e.asked[1].value, e.asked[1].found
	case e.asked[2].at == at && e.asked[2].key == key:
		return e.asked[2].value, e.asked[2].found
	case e.asked[3].at == at && e.asked[3].key == key:
		return e.asked[3].value, e.asked[3].found
	}
	return e.lookup(key)
}

func (e *entries[V]) lookup(key string) (V, bool) {
	value, found := e.search(key)
	if key != "" { // the key of unused entries
		e.asked[e.next&3] = answer[V]{address(key), e.keys.copyOf(key), value, found}
		e.next++
	}
	return value, found
}

func (e *entries[V]) search(key string) (value V, found bool) {
	for at := 0; ; {
		var pair Message
		if pair, at = e.pair(at); at < 0 {
			return value, found
		}
		if name, sent := pair.entry(); len(name) == len(key) && string(name) == key {
			value, found = e.value(sent), true // the last of duplicate keys counts
		}
	}
}

// keyTable has copies of the latest lookup keys, shared by all nodes. A map must not retain the key itself, which may be
// part of a pod and would keep the pod in memory.
type keyTable struct {
	keys [4]string
	next uint8
}

func (t *keyTable) copyOf(key string) string {
	if t == nil {
		return strings.Clone(key)
	}
	for _, known := range t.keys {
		if known == key {
			return known
		}
	}
	known := strings.Clone(key)
	t.keys[t.next&3] = known
	t.next++
	return known
}

func address(text string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(text))) }

// pair returns the next entry at or after an offset, and its end; -1 if there is none.
func (e *entries[V]) pair(at int) (content Message, next int) {
	for at < len(e.message) {
		if content, next = e.message.short(at, e.field); next >= 0 {
			return content, next
		}
		var seen, wire int
		if seen, wire, content, _, next = e.message.next(at); next < 0 {
			break
		}
		if seen == e.field && wire == wireBytes {
			return content, next
		}
		at = next
	}
	return "", -1
}

func (e *entries[V]) value(sent Message) V {
	if e.quantities {
		sent = sent.Sub(1)
	}
	return V(sent)
}

// Has reports whether the key exists.
func (m Map[V]) Has(key string) bool {
	_, found := m.Lookup(key)
	return found
}

// Len returns the number of entries.
func (m Map[V]) Len() int {
	if m.entries == nil {
		return 0
	}
	return m.entries.message.count(m.entries.field)
}

// All iterates over keys and values, in the order of the object.
func (m Map[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if m.entries == nil {
			return
		}
		for at := 0; ; {
			var pair Message
			if pair, at = m.entries.pair(at); at < 0 {
				return
			}
			if key, value := pair.entry(); !yield(string(key), m.entries.value(value)) {
				return
			}
		}
	}
}

// Matches reports whether the map has all entries of another map, such as a node selector.
func (m Map[V]) Matches(wanted Map[V]) bool {
	for key, value := range wanted.All() {
		if m.entries == nil {
			return false
		}
		if has, found := m.entries.search(key); !found || has != value {
			return false
		}
	}
	return true
}

// entry returns a key and its value. The fast path is the usual form: both present, both short.
func (m Message) entry() (key, value Message) {
	if len(m) >= 4 && m[0] == 1<<3|wireBytes && m[1] < 0x80 {
		middle := 2 + int(m[1])
		if middle+2 <= len(m) && m[middle] == 2<<3|wireBytes && m[middle+1] < 0x80 && middle+2+int(m[middle+1]) == len(m) {
			return m[2:middle], m[middle+2:]
		}
	}
	return m.Sub(1), m.Sub(2)
}
