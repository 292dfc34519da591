package kubewasp

import "testing"

func TestSignaturesDifferWhereContentsDo(t *testing.T) {
	seen := map[uint64]string{}
	for name, sum := range map[string]uint64{
		"nothing":        NewHasher().Sum(),
		"empty text":     NewHasher().String("").Sum(),
		"ab, c":          NewHasher().String("ab").String("c").Sum(),
		"a, bc":          NewHasher().String("a").String("bc").Sum(),
		"1":              NewHasher().Int(1).Sum(),
		"true and false": NewHasher().Bool(true).Bool(false).Sum(),
		"eight":          NewHasher().String("12345678").Sum(),
		"nine":           NewHasher().String("123456789").Sum(),
		"map":            NewHasher().Map(sample.Map(5)).Sum(),
	} {
		if other, there := seen[sum]; there || sum == 0 {
			t.Errorf("%s and %s have the signature %d", name, other, sum)
		}
		seen[sum] = name
	}
}

func TestEqualContentsHaveEqualSignatures(t *testing.T) {
	if NewHasher().String("x").Int(3).Sum() != NewHasher().String("x").Int(3).Sum() {
		t.Error("they differ")
	}
}
