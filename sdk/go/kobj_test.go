//go:build !wasip1

package kubewasp_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/kubewasptest"
)

func TestObjectsInLogLines(t *testing.T) {
	pods := []*kubewasp.Pod{
		kubewasp.NewPod(kubewasptest.Pod{Name: "a"}.Encode()),
		kubewasp.NewPod(kubewasptest.Pod{Name: "b", Namespace: "team"}.Encode()),
	}
	node := kubewasp.NewNode(kubewasptest.Node{Name: "n"}.Encode())
	check(t, "a pod", kubewasp.KObj(pods[1]).String(), "team/b")
	check(t, "a node", kubewasp.KObj(node).String(), "n")
	check(t, "pods", kubewasp.KObjSlice(pods[1:]).String(), "[team/b]")
	check(t, "nodes", kubewasp.KObjSlice([]*kubewasp.Node{node, node}).String(), "[n n]")
	check(t, "none", kubewasp.KObjSlice([]*kubewasp.Pod(nil)).String(), "[]")
}

// lines is a sink that keeps what a plugin logs.
type lines struct{ kept []string }

func (l *lines) Log(severity kubewasp.Severity, message string, keysAndValues ...any) {
	l.kept = append(l.kept, fmt.Sprintln(severity, message, len(keysAndValues)))
}

type talker struct{ log *kubewasp.Logger }

func (t talker) Filter(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	t.log.Info("asked", "pod", pod, "nodes", kubewasp.KObjSlice([]*kubewasp.NodeInfo{node}))
	return kubewasp.Success()
}

func TestTheLoggerIsReplaceable(t *testing.T) {
	own := &lines{}
	cluster := kubewasptest.NewCluster(kubewasptest.Node{Name: "n"})
	quiet := kubewasptest.Load(t, cluster, func(handle *kubewasp.Handle) (talker, error) {
		handle.Log.Replace(own)
		return talker{&handle.Log}, nil
	}, "")
	quiet.Schedule(kubewasptest.Pod{Name: "a"})
	kubewasp.NewLogger(own).Error("alone")
	if want := []string{"0 asked 4\n", "2 alone 0\n"}; !slices.Equal(own.kept, want) {
		t.Errorf("kept %q, want %q", own.kept, want)
	}
	check(t, "lines of the scheduler", len(quiet.Logs()), 0)

	loud := kubewasptest.Load(t, cluster, func(handle *kubewasp.Handle) (talker, error) { return talker{&handle.Log}, nil }, "")
	loud.Schedule(kubewasptest.Pod{Name: "b"})
	if want := []string{`I "asked" pod="default/b" nodes="[n]"`}; !slices.Equal(loud.Logs(), want) {
		t.Errorf("logged %q, want %q", loud.Logs(), want)
	}
}

type imageReader struct {
	found map[string]map[string]kubewasp.ImageState
}

func (r imageReader) Filter(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	r.found[node.Name()] = node.ImageStates()
	return kubewasp.Success()
}

func TestImageStatesHaveTheNumberOfNodes(t *testing.T) {
	cluster := kubewasptest.NewCluster(
		kubewasptest.Node{Name: "a", Images: []kubewasp.Image{{[]string{"nginx:1", "nginx"}, 100}, {[]string{`odd "name" ä`}, 7}}},
		kubewasptest.Node{Name: "b", Images: []kubewasp.Image{{[]string{"nginx:1"}, 100}}},
		kubewasptest.Node{Name: "c"},
	)
	reader := imageReader{map[string]map[string]kubewasp.ImageState{}}
	kubewasptest.Load(t, cluster, made(reader), "").Schedule(kubewasptest.Pod{Name: "web"})
	want := map[string]map[string]kubewasp.ImageState{
		"a": {"nginx:1": {100, 2}, "nginx": {100, 1}, `odd "name" ä`: {7, 1}},
		"b": {"nginx:1": {100, 2}},
		"c": {},
	}
	for name, states := range want {
		if !maps.Equal(reader.found[name], states) {
			t.Errorf("%s has %v, want %v", name, reader.found[name], states)
		}
	}
}

type waiter struct {
	handle *kubewasp.Handle
	found  *[]string
}

func (w waiter) Permit(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) (kubewasp.Status, time.Duration) {
	if other := w.handle.GetWaitingPod("first"); other != nil {
		*w.found = append(*w.found, other.Name()+" on "+other.NodeName())
	}
	if w.handle.GetWaitingPod("nobody") != nil {
		*w.found = append(*w.found, "nobody")
	}
	return kubewasp.Wait("for the other"), time.Minute
}

func TestAWaitingPodIsFoundByItsUID(t *testing.T) {
	var found []string
	plugin := kubewasptest.Load(t, kubewasptest.NewCluster(kubewasptest.Node{Name: "n"}), func(handle *kubewasp.Handle) (waiter, error) {
		return waiter{handle, &found}, nil
	}, "")
	plugin.Schedule(kubewasptest.Pod{Name: "one", UID: "first"})
	plugin.Schedule(kubewasptest.Pod{Name: "two", UID: "second"})
	if want := []string{"one on n"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
