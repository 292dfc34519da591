//go:build !wasip1

package kubewasptest

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// encoder writes protobuf.
type encoder struct {
	out []byte
}

func (e *encoder) key(field, wire int) {
	e.out = binary.AppendUvarint(e.out, uint64(field)<<3|uint64(wire))
}

func (e *encoder) int(field int, value int64) {
	e.key(field, 0)
	e.out = binary.AppendUvarint(e.out, uint64(value))
}

func (e *encoder) bool(field int, value bool) {
	number := int64(0)
	if value {
		number = 1
	}
	e.int(field, number)
}

func (e *encoder) bytes(field int, content []byte) {
	e.key(field, 2)
	e.out = append(binary.AppendUvarint(e.out, uint64(len(content))), content...)
}

func (e *encoder) text(field int, text string) { e.bytes(field, []byte(text)) }

func (e *encoder) message(field int, write func(*encoder)) {
	var inner encoder
	write(&inner)
	e.bytes(field, inner.out)
}

func (e *encoder) time(field int, t time.Time) {
	e.message(field, func(e *encoder) {
		if !t.IsZero() {
			e.int(1, t.Unix())
			e.int(2, int64(t.Nanosecond()))
		}
	})
}

func (e *encoder) texts(field int, entries map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e.message(field, func(e *encoder) {
			e.text(1, key)
			e.text(2, entries[key])
		})
	}
}

func (e *encoder) quantities(field int, entries Resources) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e.message(field, func(e *encoder) {
			e.text(1, key)
			e.message(2, func(e *encoder) { e.text(1, entries[key]) })
		})
	}
}

func (e *encoder) metadata(
	name, namespace, uid string, created, deleted time.Time, labels, annotations map[string]string,
) {
	e.text(1, name)
	e.text(3, namespace)
	e.text(5, uid)
	e.time(8, created)
	if !deleted.IsZero() {
		e.time(9, deleted)
	}
	e.texts(11, labels)
	e.texts(12, annotations)
}
