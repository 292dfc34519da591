package kubewasp

import (
	"iter"
	"strings"
	"time"
)

// Message is an encoded protobuf message; fields are decoded on access. It gives access to fields without a method in the
// other types, by their number in the .proto files of the Kubernetes API:
//
//	hostNetwork := pod.Proto().Sub(2).Bool(11)
//
// A field that is absent, truncated or of another type has the zero value. Invalid bytes never cause a panic.
type Message string

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// Has reports whether the field is present, even if it is empty.
func (m Message) Has(field int) bool {
	_, _, found := m.find(field, -1)
	return found
}

// Text returns a string or bytes field.
func (m Message) Text(field int) string {
	content, _, _ := m.find(field, wireBytes)
	return string(content)
}

// Sub returns a message field. Several occurrences are merged, as in protobuf.
func (m Message) Sub(field int) Message {
	var whole Message
	for at := 0; at < len(m); {
		seen, wire, content, _, next := m.next(at)
		if next < 0 {
			break
		}
		if seen == field && wire == wireBytes {
			whole += content
		}
		at = next
	}
	return whole
}

// Int returns an integer field.
func (m Message) Int(field int) int64 {
	_, number, _ := m.find(field, wireVarint)
	return int64(number)
}

// Bool returns a boolean field.
func (m Message) Bool(field int) bool { return m.Int(field) != 0 }

// Time returns a field of type Time or MicroTime; the zero time if it is absent.
func (m Message) Time(field int) time.Time {
	content := m.Sub(field)
	seconds, nanos := content.Int(1), content.Int(2)
	if seconds == 0 && nanos == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, nanos).UTC()
}

// Subs iterates over a repeated message field.
func (m Message) Subs(field int) iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for at := 0; at < len(m); {
			number, wire, content, _, next := m.next(at)
			if next < 0 {
				return
			}
			if number == field && wire == wireBytes && !yield(content) {
				return
			}
			at = next
		}
	}
}

// Texts returns the values of a repeated string field.
func (m Message) Texts(field int) []string {
	var texts []string
	for text := range m.Subs(field) {
		texts = append(texts, string(text))
	}
	return texts
}

// Ints returns the values of a repeated integer field, packed or not.
func (m Message) Ints(field int) []int64 {
	var numbers []int64
	for at := 0; at < len(m); {
		seen, wire, content, value, next := m.next(at)
		if next < 0 {
			break
		}
		switch {
		case seen != field:
		case wire == wireVarint:
			numbers = append(numbers, int64(value))
		case wire == wireBytes:
			for inner := 0; inner < len(content); {
				if value, inner = content.varint(inner); inner < 0 {
					break
				}
				numbers = append(numbers, int64(value))
			}
		}
		at = next
	}
	return numbers
}

// Map returns a field of type map<string, string>.
func (m Message) Map(field int) Map[string] {
	if m == "" {
		return Map[string]{}
	}
	return Map[string]{&entries[string]{message: m, field: field}}
}

// Quantities returns a field of type map<string, Quantity>, e.g. the requests of a container.
func (m Message) Quantities(field int) Map[Quantity] {
	if m == "" {
		return Map[Quantity]{}
	}
	return Map[Quantity]{&entries[Quantity]{message: m, field: field, quantities: true}}
}

// find returns the last occurrence of a field, as in protobuf; wire type -1 matches any.
func (m Message) find(field, wire int) (content Message, number uint64, found bool) {
	for at := 0; at < len(m); {
		seen, kind, body, value, next := m.next(at)
		if next < 0 {
			break
		}
		if seen == field && (wire < 0 || kind == wire) {
			content, number, found = body, value, true
		}
		at = next
	}
	return content, number, found
}

// next decodes the field at an offset: number, wire type, content or value, and the offset of the next field; -1 for
// invalid bytes.
func (m Message) next(at int) (field, wire int, content Message, value uint64, next int) {
	key, at := m.varint(at)
	if at < 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
		return 0, 0, "", 0, -1
	}
	field, wire = int(key>>3), int(key&7)
	switch wire {
	case wireVarint:
		value, next = m.varint(at)
	case wireBytes:
		var length uint64
		length, at = m.varint(at)
		if at < 0 || length > uint64(len(m)-at) {
			return 0, 0, "", 0, -1
		}
		next = at + int(length)
		content = m[at:next]
	case wireFixed64, wireFixed32:
		next = at + 8
		if wire == wireFixed32 {
			next = at + 4
		}
		if next > len(m) {
			next = -1
		}
	default:
		next = -1
	}
	return field, wire, content, value, next
}

// varint returns a number and its end; -1 if it is truncated or too long.
func (m Message) varint(at int) (uint64, int) {
	if at < len(m) && m[at] < 0x80 { // most keys and lengths have one byte
		return uint64(m[at]), at + 1
	}
	var number uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if at >= len(m) {
			return 0, -1
		}
		b := m[at]
		at++
		number |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return number, at
		}
	}
	return 0, -1
}

// section returns a copy of the part of a message with all occurrences of a field, instead of a large object.
func (m Message) section(field int) Message {
	start, end := -1, -1
	for at := 0; at < len(m); {
		_, next := m.short(at, field)
		seen := field
		if next < 0 {
			if seen, _, _, _, next = m.next(at); next < 0 {
				break
			}
		}
		if seen == field {
			if start < 0 {
				start = at
			}
			end = next
		}
		at = next
	}
	if start < 0 {
		return ""
	}
	return Message(strings.Clone(string(m[start:end])))
}

// count returns the number of occurrences of a string or message field.
func (m Message) count(field int) int {
	count := 0
	for at := 0; at < len(m); {
		_, next := m.short(at, field)
		if next < 0 {
			var seen, wire int
			if seen, wire, _, _, next = m.next(at); next < 0 {
				break
			}
			if seen != field || wire != wireBytes {
				count--
			}
		}
		count++
		at = next
	}
	return count
}

// short returns the content of a field in its most frequent form: this field, at this offset, shorter than 128 bytes. It
// is small enough for inlining, as calls are slow in wasm. Otherwise next is -1; the field may still be this one.
func (m Message) short(at, field int) (content Message, next int) {
	if at+1 < len(m) && int(m[at]) == field<<3|wireBytes && m[at] < 0x80 && m[at+1] < 0x80 {
		if next = at + 2 + int(m[at+1]); next <= len(m) {
			return m[at+2 : next], next
		}
	}
	return "", -1
}
