package kubewasp

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// parts is a key in the order of which we are sure.
type parts struct {
	number int64
	text   string
	when   time.Time
	share  float64
	flag   bool
}

func (p parts) ascending() Key {
	return Key{}.Int(p.number).String(p.text).Time(p.when).Float(p.share).Bool(p.flag)
}

func (p parts) descending() Key {
	return Key{}.IntDesc(p.number).StringDesc(p.text).TimeDesc(p.when).FloatDesc(p.share).BoolDesc(p.flag)
}

func (p parts) compare(other parts) int {
	return cmp.Or(cmp.Compare(p.number, other.number), cmp.Compare(p.text, other.text), p.when.Compare(other.when),
		cmp.Compare(p.share, other.share), cmp.Compare(number(p.flag), number(other.flag)))
}

func number(flag bool) int {
	if flag {
		return 1
	}
	return 0
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

func randomParts(random *rand.Rand) parts {
	return parts{
		number: pick(random, 0, 1, -1, 255, 256, math.MinInt64, math.MaxInt64, random.Int64()),
		text:   pick(random, "", "a", "ab", "b", "a\x00", "a\x00\x00", "a\x00\xff", "\xff", "a\x01", "\x00"),
		when:   pick(random, time.Time{}, time.Unix(0, 0), time.Unix(0, 1), time.Unix(-1, 999), time.Unix(random.Int64N(1<<33), 0)),
		share:  pick(random, 0, 1, -1, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, random.NormFloat64()),
		flag:   pick(random, true, false),
	}
}

func TestKeysCompareAsTheirPartsDo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		a, b := randomParts(random), randomParts(random)
		want := a.compare(b)
		if got := bytes.Compare(a.ascending().Bytes(), b.ascending().Bytes()); got != want {
			t.Fatalf("ascending: %+v and %+v compare as %d, want %d", a, b, got, want)
		}
		if got := bytes.Compare(a.descending().Bytes(), b.descending().Bytes()); got != -want {
			t.Fatalf("descending: %+v and %+v compare as %d, want %d", a, b, got, -want)
		}
	}
}

func TestMinusZeroAndZeroAreEqual(t *testing.T) {
	if !bytes.Equal(Key{}.Float(math.Copysign(0, -1)).Bytes(), Key{}.Float(0).Bytes()) {
		t.Error("they differ")
	}
}

func TestKeysWithTheSameBeginningDoNotDisturbEachOther(t *testing.T) {
	base := Key{}.Int(1).String("x")
	first := base.Int(2)
	want := string(first.Bytes())
	base.Int(3)
	if string(first.Bytes()) != want {
		t.Error("the first key has changed")
	}
}

func TestALongKeyIsCutOff(t *testing.T) {
	if got := len(Key{}.String(strings.Repeat("x", 5000)).Int(1).Bytes()); got != MaxKeyLength {
		t.Errorf("it has %d bytes", got)
	}
}
