package kubewasp

import (
	"math"
	"time"
)

// MaxKeyLength is the maximum length of a key in bytes; longer keys are truncated.
const MaxKeyLength = 1024

// Key is the position of a pod in the scheduling queue, smallest first. It is built part by part, most significant first:
//
//	return kubewasp.Key{}.IntDesc(int64(pod.Priority())).Time(queuedAt)
//
// Each part has a Desc form with the reverse order. All keys of a plugin must have the same parts in the same order.
type Key struct {
	bytes []byte
}

// Int sorts smaller numbers first.
func (k Key) Int(number int64) Key { return k.fixed(uint64(number)^1<<63, 0) }

// IntDesc sorts larger numbers first.
func (k Key) IntDesc(number int64) Key { return k.fixed(uint64(number)^1<<63, math.MaxUint64) }

// Float sorts smaller numbers first, NaN before all.
func (k Key) Float(number float64) Key { return k.fixed(floatBits(number), 0) }

// FloatDesc sorts larger numbers first, NaN after all.
func (k Key) FloatDesc(number float64) Key { return k.fixed(floatBits(number), math.MaxUint64) }

// Bool sorts false first.
func (k Key) Bool(value bool) Key { return k.flag(value) }

// BoolDesc sorts true first.
func (k Key) BoolDesc(value bool) Key { return k.flag(!value) }

// Time sorts earlier times first, the zero time before all.
func (k Key) Time(t time.Time) Key { return k.Int(t.Unix()).Int(int64(t.Nanosecond())) }

// TimeDesc sorts later times first, the zero time after all.
func (k Key) TimeDesc(t time.Time) Key { return k.IntDesc(t.Unix()).IntDesc(int64(t.Nanosecond())) }

// String sorts by bytes.
func (k Key) String(text string) Key { return k.text(text, 0) }

// StringDesc sorts by bytes, in reverse order.
func (k Key) StringDesc(text string) Key { return k.text(text, 0xff) }

// Bytes returns the encoded key, which is compared byte by byte, unsigned.
func (k Key) Bytes() []byte {
	return k.bytes[:min(len(k.bytes), MaxKeyLength)]
}

// Each part is appended to a copy: keys with a common prefix must not share memory.
func (k Key) fixed(number, flip uint64) Key {
	number ^= flip
	return Key{append(k.bytes[:len(k.bytes):len(k.bytes)],
		byte(number>>56), byte(number>>48), byte(number>>40), byte(number>>32),
		byte(number>>24), byte(number>>16), byte(number>>8), byte(number))}
}

func (k Key) flag(value bool) Key {
	number := byte(0)
	if value {
		number = 1
	}
	return Key{append(k.bytes[:len(k.bytes):len(k.bytes)], number)}
}

// text terminates a text with 0 0, which sorts before any continuation; a 0 in the text becomes 0 255.
func (k Key) text(text string, flip byte) Key {
	bytes := make([]byte, len(k.bytes), len(k.bytes)+len(text)+2)
	copy(bytes, k.bytes)
	for i := 0; i < len(text) && len(bytes) < MaxKeyLength; i++ {
		bytes = append(bytes, text[i]^flip)
		if text[i] == 0 {
			bytes = append(bytes, 0xff^flip)
		}
	}
	return Key{append(bytes, flip, flip)}
}

// floatBits returns bits in the order of the number: all bits inverted for negative numbers, else the sign bit only.
func floatBits(number float64) uint64 {
	if number != number {
		return 0
	}
	bits := math.Float64bits(number + 0) // -0 + 0 is 0
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}
