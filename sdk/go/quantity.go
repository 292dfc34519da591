package kubewasp

import (
	"math"
	"math/bits"
)

// Quantity is an amount in Kubernetes notation: "500m", "2Gi", "1e3". Invalid text has the value 0 and is not Valid.
type Quantity string

// Value returns the amount as an integer, rounded away from zero as in Kubernetes, limited to int64.
func (q Quantity) Value() int64 {
	value, _ := q.scaled(0)
	return value
}

// MilliValue returns the amount in thousandths, the unit of CPU; otherwise like Value.
func (q Quantity) MilliValue() int64 {
	value, _ := q.scaled(3)
	return value
}

// Valid reports whether the text is a quantity.
func (q Quantity) Valid() bool {
	_, valid := q.scaled(0)
	return valid
}

// In returns the amount in scheduler units of the resource: thousandths for CPU, else whole units.
func (q Quantity) In(resource Resource) int64 {
	if resource == CPU {
		return q.MilliValue()
	}
	return q.Value()
}

// scaled returns the amount times a power of ten.
func (q Quantity) scaled(power int) (value int64, valid bool) {
	text := string(q)
	negative := false
	if text != "" && (text[0] == '+' || text[0] == '-') {
		negative = text[0] == '-'
		text = text[1:]
	}
	var amount uint64
	digits, fraction, point, lost := 0, 0, false, false
	for ; text != ""; text = text[1:] {
		c := text[0]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		if amount > (math.MaxUint64-9)/10 { // excess digits: keep the magnitude, and the fact of a remainder
			lost = lost || c != '0'
			if !point {
				fraction--
			}
			continue
		}
		amount = amount*10 + uint64(c-'0')
		if point {
			fraction++
		}
	}
	binary, exponent, known := suffix(text)
	if digits == 0 || !known {
		return 0, false
	}
	number := wide{amount}
	number.multiply(1 << binary)
	for exponent += power - fraction; exponent > 0 && number != (wide{}); exponent-- {
		if !number.multiply(10) {
			number = wide{math.MaxUint64, math.MaxUint64, math.MaxUint64}
			break
		}
	}
	for ; exponent < 0 && number != (wide{}); exponent++ {
		lost = number.divide(10) || lost
	}
	value = number.int64(lost)
	if negative {
		value = -value
	}
	return value, true
}

// suffix returns the multiplier after the digits: a power of two or ten.
func suffix(text string) (binary uint, exponent int, known bool) {
	switch text {
	case "":
		return 0, 0, true
	case "Ki":
		return 10, 0, true
	case "Mi":
		return 20, 0, true
	case "Gi":
		return 30, 0, true
	case "Ti":
		return 40, 0, true
	case "Pi":
		return 50, 0, true
	case "Ei":
		return 60, 0, true
	case "n":
		return 0, -9, true
	case "u":
		return 0, -6, true
	case "m":
		return 0, -3, true
	case "k":
		return 0, 3, true
	case "M":
		return 0, 6, true
	case "G":
		return 0, 9, true
	case "T":
		return 0, 12, true
	case "P":
		return 0, 15, true
	case "E":
		return 0, 18, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, 0, false
	}
	text = text[1:]
	sign := 1
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if text == "" {
		return 0, 0, false
	}
	for ; text != ""; text = text[1:] {
		if text[0] < '0' || text[0] > '9' {
			return 0, 0, false
		}
		exponent = min(exponent*10+int(text[0]-'0'), 1000)
	}
	return 0, sign * exponent, true
}

// wide is a 192-bit number, lowest word first; it must hold digits times 2^60 times 1000.
type wide [3]uint64

// multiply reports whether the product fits.
func (w *wide) multiply(factor uint64) bool {
	var carry uint64
	for i, word := range w {
		high, low := bits.Mul64(word, factor)
		sum, over := bits.Add64(low, carry, 0)
		w[i], carry = sum, high+over
	}
	return carry == 0
}

// divide reports whether there is a remainder.
func (w *wide) divide(divisor uint64) bool {
	var rest uint64
	for i := len(w) - 1; i >= 0; i-- {
		w[i], rest = bits.Div64(rest, w[i], divisor)
	}
	return rest != 0
}

// int64 returns the number, rounded up if digits were lost, limited to int64.
func (w *wide) int64(lost bool) int64 {
	if w[1] != 0 || w[2] != 0 || w[0] >= math.MaxInt64 {
		return math.MaxInt64
	}
	if lost {
		return int64(w[0]) + 1
	}
	return int64(w[0])
}
