//go:build !wasip1

package kubewasp

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestImageStatesAreReadAsByAJSONParser(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"a":{"Size":1,"NumNodes":2}}`,
		` { "a" : { "NumNodes" : 2 , "Size" : -1 } , "b": {} } `,
		`{"\"\\\/\b\f\n\r\tä😀é":{"Size":9007199254740993,"NumNodes":0}}`,
		`null`,
	} {
		want := map[string]ImageState{}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got := imageStates(text); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func FuzzImageStates(f *testing.F) {
	for _, text := range []string{`{"a":{"Size":1}`, `{"a`, `{"\u12`, `{"\`, `{"a":{"Size":x}}`, `{"\ud800\u0041":{}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { imageStates(text) })
}
