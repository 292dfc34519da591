package kubewasp

import "iter"

// Map is a small read-only map with text keys: labels, annotations, a node selector, quantities by resource. It is a
// list, as there are few entries: that is quicker than hashing, and takes less memory.
type Map[V ~string] struct {
	entries []entry[V]
}

type entry[V ~string] struct {
	key   string
	value V
}

// Get is the value of a key; empty if there is none.
func (m Map[V]) Get(key string) V {
	value, _ := m.Lookup(key)
	return value
}

// Lookup is the value of a key, and whether there is one.
func (m Map[V]) Lookup(key string) (V, bool) {
	for i := len(m.entries) - 1; i >= 0; i-- { // where a key occurs twice, the last counts
		if m.entries[i].key == key {
			return m.entries[i].value, true
		}
	}
	return "", false
}

// Has says whether the key is there.
func (m Map[V]) Has(key string) bool {
	_, found := m.Lookup(key)
	return found
}

// Len is the number of entries.
func (m Map[V]) Len() int { return len(m.entries) }

// All goes through keys and values, in the order of the object.
func (m Map[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, entry := range m.entries {
			if !yield(entry.key, entry.value) {
				return
			}
		}
	}
}

// Matches says whether all entries of another map, say a node selector, are in this one.
func (m Map[V]) Matches(wanted Map[V]) bool {
	for _, entry := range wanted.entries {
		if value, found := m.Lookup(entry.key); !found || value != entry.value {
			return false
		}
	}
	return true
}

// readMap decodes a map field; the texts are views of the message. A quantity is a message with a text in it.
func readMap[V ~string](m Message, field int, quantities bool) Map[V] {
	count := m.count(field)
	if count == 0 {
		return Map[V]{}
	}
	entries := make([]entry[V], 0, count)
	for pair := range m.Subs(field) {
		value := pair.Sub(2)
		if quantities {
			value = value.Sub(1)
		}
		entries = append(entries, entry[V]{pair.Text(1), V(value)})
	}
	return Map[V]{entries}
}
