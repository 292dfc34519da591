package kubewasp

import (
	"math"
	"time"
)

// MaxKeyLength is how many bytes of a key count; what is longer is cut off.
const MaxKeyLength = 1024

// Key orders pods in the scheduling queue: the smaller key is scheduled first. It is built part by part, the most
// important one first:
//
//	return kubewasp.Key{}.IntDesc(int64(pod.Priority())).Time(queuedAt)
//
// Each part has a twin ending in Desc that turns its order around. Keys of one plugin must have the same parts in the
// same order, or they compare as nonsense.
type Key struct {
	bytes []byte
}

// Int puts smaller numbers first.
func (k Key) Int(number int64) Key { return k.fixed(uint64(number)^1<<63, 0) }

// IntDesc puts larger numbers first.
func (k Key) IntDesc(number int64) Key { return k.fixed(uint64(number)^1<<63, math.MaxUint64) }

// Float puts smaller numbers first; NaN comes first of all.
func (k Key) Float(number float64) Key { return k.fixed(floatBits(number), 0) }

// FloatDesc puts larger numbers first; NaN comes last.
func (k Key) FloatDesc(number float64) Key { return k.fixed(floatBits(number), math.MaxUint64) }

// Bool puts false first.
func (k Key) Bool(value bool) Key { return k.flag(value) }

// BoolDesc puts true first.
func (k Key) BoolDesc(value bool) Key { return k.flag(!value) }

// Time puts earlier times first; the zero time comes first of all.
func (k Key) Time(t time.Time) Key { return k.Int(t.Unix()).Int(int64(t.Nanosecond())) }

// TimeDesc puts later times first; the zero time comes last.
func (k Key) TimeDesc(t time.Time) Key { return k.IntDesc(t.Unix()).IntDesc(int64(t.Nanosecond())) }

// String puts texts in the order of their bytes.
func (k Key) String(text string) Key { return k.text(text, 0) }

// StringDesc puts texts in the reverse order of their bytes.
func (k Key) StringDesc(text string) Key { return k.text(text, 0xff) }

// Bytes is the key as it is compared: byte by byte, unsigned.
func (k Key) Bytes() []byte {
	return k.bytes[:min(len(k.bytes), MaxKeyLength)]
}

// Each part appends to a copy: keys that share a beginning must not share memory.
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

// text ends a text with 0 0, which sorts before all that could follow; a 0 in the text becomes 0 255.
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

// floatBits orders as the number does: negative ones have all bits turned around, the others just the sign.
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
