package kubewasp

import "math/bits"

// Hasher builds a signature from the inputs of a policy (SipHash-2-4). Use it in SignPod, always with the same parts in
// the same order:
//
//	return kubewasp.NewHasher().String(pod.Namespace()).Int(pod.Requests(kubewasp.CPU)).Sum()
type Hasher struct {
	v0, v1, v2, v3 uint64
}

// NewHasher returns an empty Hasher.
func NewHasher() Hasher {
	// The key is fixed: all instances of a plugin must agree.
	return Hasher{0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573}
}

// Int adds a number.
func (h Hasher) Int(number int64) Hasher {
	h.word(uint64(number))
	return h
}

// Bool adds a boolean.
func (h Hasher) Bool(value bool) Hasher {
	if value {
		return h.Int(1)
	}
	return h.Int(0)
}

// String adds a string; "ab" and "c" differ from "a" and "bc".
func (h Hasher) String(text string) Hasher {
	h.word(uint64(len(text)))
	for len(text) > 0 {
		var word uint64
		for i := 0; i < 8 && i < len(text); i++ {
			word |= uint64(text[i]) << (8 * i)
		}
		h.word(word)
		text = text[min(8, len(text)):]
	}
	return h
}

// Map adds all entries of a map, e.g. a node selector.
func (h Hasher) Map(entries Map[string]) Hasher {
	h.word(uint64(entries.Len()))
	for key, value := range entries.All() {
		h = h.String(key).String(value)
	}
	return h
}

// Sum returns the signature, which is never 0.
func (h Hasher) Sum() uint64 {
	h.v2 ^= 0xff
	for range 4 {
		h.round()
	}
	return max(h.v0^h.v1^h.v2^h.v3, 1)
}

func (h *Hasher) word(word uint64) {
	h.v3 ^= word
	h.round()
	h.round()
	h.v0 ^= word
}

func (h *Hasher) round() {
	h.v0 += h.v1
	h.v1 = bits.RotateLeft64(h.v1, 13) ^ h.v0
	h.v0 = bits.RotateLeft64(h.v0, 32)
	h.v2 += h.v3
	h.v3 = bits.RotateLeft64(h.v3, 16) ^ h.v2
	h.v0 += h.v3
	h.v3 = bits.RotateLeft64(h.v3, 21) ^ h.v0
	h.v2 += h.v1
	h.v1 = bits.RotateLeft64(h.v1, 17) ^ h.v2
	h.v2 = bits.RotateLeft64(h.v2, 32)
}
