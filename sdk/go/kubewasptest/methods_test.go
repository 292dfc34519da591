//go:build !wasip1

package kubewasptest

import (
	"fmt"
	"strings"
	"testing"

	kubewasp "kubewasp.dev/sdk"
)

// recorder takes the place of a test that fails.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

type wrongFilter struct{}

func (wrongFilter) Filter(*kubewasp.Pod) kubewasp.Status { return kubewasp.Success() }

func (wrongFilter) Score(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return 0, kubewasp.Success()
}

type onPointer struct{}

func (*onPointer) PreEnqueue(*kubewasp.Pod) kubewasp.Status { return kubewasp.Success() }

func TestAMethodThatWouldNeverBeCalledFailsTheTest(t *testing.T) {
	for want, plugin := range map[string]any{
		"has a method Filter but does not implement kubewasp.Filter": wrongFilter{},
		"implements kubewasp.PreEnqueue only as a pointer":           onPointer{},
	} {
		seen := &recorder{TB: t}
		checkMethods(seen, plugin)
		if len(seen.errors) != 1 || !strings.Contains(seen.errors[0], want) {
			t.Errorf("got %q, want %q", seen.errors, want)
		}
	}
	seen := &recorder{TB: t}
	checkMethods(seen, &onPointer{})
	if len(seen.errors) != 0 {
		t.Errorf("got %q", seen.errors)
	}
}
