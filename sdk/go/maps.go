package kubewasp

import (
	"iter"
	"unsafe"
)

// Map is a small read-only map with text keys: labels, annotations, a node selector, quantities by resource. It is a
// view of the encoded object, and remembers the answers to the keys asked for last: asking again with the same constant
// takes no search.
type Map[V ~string] struct {
	entries *entries[V]
}

// entries are the fields of a message that are the entries of a map. They are not decoded into a list of texts: for the
// nodes of a cluster that would be most of what the garbage collector has to look at.
type entries[V ~string] struct {
	message    Message
	field      int
	quantities bool // a quantity is a message with a text in it
	asked      [4]answer[V]
	next       int // which of them is given up next
}

type answer[V ~string] struct {
	key   string
	value V
	found bool
}

// Get is the value of a key; empty if there is none.
func (m Map[V]) Get(key string) V {
	value, _ := m.Lookup(key)
	return value
}

// Lookup is the value of a key, and whether there is one. Hot path: asked for every node, and loops are dear in wasm.
func (m Map[V]) Lookup(key string) (V, bool) {
	e := m.entries
	switch {
	case e == nil:
		return "", false
	case same(e.asked[0].key, key):
		return e.asked[0].value, e.asked[0].found
	case same(e.asked[1].key, key):
		return e.asked[1].value, e.asked[1].found
	case same(e.asked[2].key, key):
		return e.asked[2].value, e.asked[2].found
	case same(e.asked[3].key, key):
		return e.asked[3].value, e.asked[3].found
	}
	return e.search(key)
}

// same says whether two texts are one and the same, not just equal: that needs no look at their bytes. An empty text is
// never: it is what stands where no answer is.
func same(a, b string) bool {
	return unsafe.StringData(a) == unsafe.StringData(b) && len(a) == len(b) && len(a) > 0
}

func (e *entries[V]) search(key string) (V, bool) {
	found := answer[V]{key: key}
	for at := 0; at >= 0; {
		var pair Message
		if pair, at = e.pair(at); at < 0 {
			break
		}
		if name, value := pair.entry(); len(name) == len(key) && string(name) == key {
			found.value, found.found = e.value(value), true // where a key occurs twice, the last counts
		}
	}
	e.asked[e.next&3] = found
	e.next++
	return found.value, found.found
}

// pair is the entry at a place or behind it, and where it ends; -1 if there is none.
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

// Has says whether the key is there.
func (m Map[V]) Has(key string) bool {
	_, found := m.Lookup(key)
	return found
}

// Len is the number of entries.
func (m Map[V]) Len() int {
	if m.entries == nil {
		return 0
	}
	return m.entries.message.count(m.entries.field)
}

// All goes through keys and values, in the order of the object.
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

// Matches says whether all entries of another map, say a node selector, are in this one.
func (m Map[V]) Matches(wanted Map[V]) bool {
	for key, value := range wanted.All() {
		if has, found := m.Lookup(key); !found || has != value {
			return false
		}
	}
	return true
}

// entry is a map's key and value. Nearly all are of the form that is looked at first: both there, both short.
func (m Message) entry() (key, value Message) {
	if len(m) >= 4 && m[0] == 1<<3|wireBytes && m[1] < 0x80 {
		middle := 2 + int(m[1])
		if middle+2 <= len(m) && m[middle] == 2<<3|wireBytes && m[middle+1] < 0x80 && middle+2+int(m[middle+1]) == len(m) {
			return m[2:middle], m[middle+2:]
		}
	}
	return m.Sub(1), m.Sub(2)
}
