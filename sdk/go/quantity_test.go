package kubewasp

import (
	"math"
	"testing"
)

func TestQuantities(t *testing.T) {
	for _, test := range []struct {
		text         Quantity
		value, milli int64
	}{
		{"0", 0, 0},
		{"1", 1, 1000},
		{"500m", 1, 500},
		{"1500m", 2, 1500},
		{"1.5", 2, 1500},
		{".5", 1, 500},
		{"5.", 5, 5000},
		{"2Gi", 2 << 30, 2 << 30 * 1000},
		{"0.5Ki", 512, 512000},
		{"1.0001Ki", 1025, 1024103},
		{"2G", 2e9, 2e12},
		{"100k", 100000, 1e8},
		{"1E", 1e18, math.MaxInt64},
		{"1e3", 1000, 1e6},
		{"1E3", 1000, 1e6},
		{"12E-1", 2, 1200},
		{"1e+2", 100, 1e5},
		{"1n", 1, 1},
		{"1000000u", 1, 1000},
		{"999u", 1, 1},
		{"-500m", -1, -500},
		{"+3", 3, 3000},
		{"8Ei", math.MaxInt64, math.MaxInt64},
		{"7Ei", 7 << 60, math.MaxInt64},
		{"99999999999999999999999", math.MaxInt64, math.MaxInt64},
		{"0.00000000000000000000000001", 1, 1},
		{"100000000000000000000000e-20", 1000, 1e6},
		{"1e-999999999", 1, 1},
		{"0e999999999", 0, 0},
		{"1.000000000000000000000000001", 2, 1001},
	} {
		if !test.text.Valid() {
			t.Errorf("%q is no quantity", test.text)
		}
		if got := test.text.Value(); got != test.value {
			t.Errorf("%q is %d, want %d", test.text, got, test.value)
		}
		if got := test.text.MilliValue(); got != test.milli {
			t.Errorf("%q is %d thousandths, want %d", test.text, got, test.milli)
		}
	}
}

func TestWhatIsNoQuantityIsZero(t *testing.T) {
	for _, text := range []Quantity{"", "x", "1x", "1ki", "1 Gi", "--1", "1.2.3", "e3", "1e", "1e+", "Gi", ".", "1Gii", "0x1"} {
		if text.Valid() || text.Value() != 0 {
			t.Errorf("%q is taken for %d", text, text.Value())
		}
	}
}

func TestCPUIsInThousandths(t *testing.T) {
	if got := Quantity("2").In(CPU); got != 2000 {
		t.Errorf("got %d", got)
	}
	if got := Quantity("2").In(Memory); got != 2 {
		t.Errorf("got %d", got)
	}
}
