//go:build !wasip1

package kubewasp_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/kubewasptest"
)

// made returns a factory for a plugin that is there already.
func made[P any](plugin P) func(*kubewasp.Handle) (P, error) {
	return func(*kubewasp.Handle) (P, error) { return plugin, nil }
}

func threeNodes() *kubewasptest.Cluster {
	return kubewasptest.NewCluster(
		kubewasptest.Node{Name: "a", Labels: map[string]string{"zone": "x"}, Allocatable: kubewasptest.Resources{"cpu": "4", "gpu": "2"}},
		kubewasptest.Node{Name: "b", Labels: map[string]string{"zone": "y"}, Allocatable: kubewasptest.Resources{"cpu": "8"}},
		kubewasptest.Node{Name: "c", Allocatable: kubewasptest.Resources{"cpu": "2"}},
	)
}

type filterFunc func(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) kubewasp.Status

func (f filterFunc) Filter(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	return f(state, pod, node)
}

type scoreFunc func(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) (int64, kubewasp.Status)

func (f scoreFunc) Score(state *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return f(state, pod, node)
}

func TestFilterSeesThePodTheNodeAndItsNumbers(t *testing.T) {
	cluster := threeNodes()
	cluster.AddPod(kubewasptest.Pod{Name: "old", NodeName: "b", Requests: kubewasptest.Resources{"cpu": "7"}})
	plugin := kubewasptest.Load(t, cluster, made(filterFunc(
		func(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
			if node.Free(kubewasp.CPU) < pod.Requests(kubewasp.CPU) {
				return kubewasp.Unschedulable(node.Name() + " has too little CPU")
			}
			return kubewasp.Success()
		})), "")

	result := plugin.Schedule(kubewasptest.Pod{Name: "web", Requests: kubewasptest.Resources{"cpu": "3"}})

	check(t, "Node", result.Node, "a")
	check(t, "b", result.Rejected["b"], kubewasp.Unschedulable("b has too little CPU"))
	check(t, "c", result.Rejected["c"], kubewasp.Unschedulable("c has too little CPU"))
	if got := cluster.PodsOn("a"); !slices.Equal(got, []string{"web"}) {
		t.Errorf("on a are %q", got)
	}
}

func TestANodeIsReadAnewWhenItChanges(t *testing.T) {
	cluster := threeNodes()
	decoded := 0
	zones := kubewasp.NewNodeCache(func(node *kubewasp.NodeInfo) string {
		decoded++
		return node.Labels().Get("zone")
	})
	plugin := kubewasptest.Load(t, cluster, made(filterFunc(
		func(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
			if zone := zones.Get(node); zone != node.Labels().Get("zone") {
				t.Errorf("the cache has zone %q", zone)
			}
			return kubewasp.Unschedulable(zones.Get(node))
		})), "")
	reasons := func() string {
		rejected := plugin.Schedule(kubewasptest.Pod{Name: "web"}).Rejected
		return rejected["a"].Reason + rejected["b"].Reason + rejected["c"].Reason
	}

	check(t, "first", reasons(), "xy")
	cluster.AddPod(kubewasptest.Pod{Name: "old", NodeName: "a"})
	check(t, "second", reasons(), "xy")
	check(t, "nodes decoded", decoded, 3)
	cluster.SetNode(kubewasptest.Node{Name: "b", Labels: map[string]string{"zone": "z"}})
	check(t, "third", reasons(), "xz")
	cluster.RemoveNode("a")
	cluster.SetNode(kubewasptest.Node{Name: "a", Labels: map[string]string{"zone": "new"}})
	check(t, "fourth", reasons(), "newz")
	check(t, "nodes decoded", decoded, 5)
}

func TestAHintGoesWithItsStatus(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(filterFunc(
		func(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
			switch node.Name() {
			case "a":
				return kubewasp.Unschedulable("slow").WithHint("label disk=ssd")
			case "b":
				return kubewasp.Unresolvable("full")
			}
			return kubewasp.Success().WithHint("never sent")
		})), "")
	rejected := plugin.Schedule(kubewasptest.Pod{Name: "web"}).Rejected
	check(t, "a", rejected["a"].String(), "Unschedulable: slow")
	check(t, "hint", rejected["a"].Hint(), "label disk=ssd")
	check(t, "b", rejected["b"], kubewasp.Unresolvable("full"))
}

func TestPodsOnANodeAreReadAnewWhenTheyChange(t *testing.T) {
	cluster := threeNodes()
	counted := 0
	heavy := kubewasp.NewNodeInfoCache(func(node *kubewasp.NodeInfo) (names string) {
		counted++
		for _, pod := range node.Pods() {
			names += pod.Name() + " "
		}
		return names
	})
	plugin := kubewasptest.Load(t, cluster, made(filterFunc(
		func(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
			if len(node.Pods()) != node.PodCount() {
				t.Errorf("%d pods, counted %d", len(node.Pods()), node.PodCount())
			}
			return kubewasp.Unschedulable(heavy.Get(node))
		})), "")
	on := func(node string) string { return plugin.Schedule(kubewasptest.Pod{Name: "web"}).Rejected[node].Reason }

	check(t, "nothing there", on("a"), "")
	cluster.AddPod(kubewasptest.Pod{Name: "one", NodeName: "a"})
	cluster.AddPod(kubewasptest.Pod{Name: "two", NodeName: "a"})
	check(t, "two came", on("a"), "one two ")
	cluster.RemovePod(kubewasptest.Pod{Name: "one"})
	check(t, "one left", on("a"), "two ")
	check(t, "times counted", counted, 3+1+1)
}

func TestExtendedResourcesHaveNumbers(t *testing.T) {
	cluster := threeNodes()
	cluster.AddPod(kubewasptest.Pod{Name: "old", NodeName: "a", Requests: kubewasptest.Resources{"gpu": "1"}})
	var seen []int64
	plugin := kubewasptest.Load(t, cluster, func(handle *kubewasp.Handle) (filterFunc, error) {
		gpu, late := handle.Resource("gpu"), kubewasp.Resource{}
		return func(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
			if node.Name() == "a" {
				late = handle.Resource("late")
				seen = append(seen, node.Allocatable(gpu), node.Requested(gpu), node.Pods()[0].Requests(gpu), pod.Requests(gpu),
					node.Allocatable(late), pod.Requests(late), node.Allocatable(kubewasp.Resource{}))
			}
			return kubewasp.Success()
		}, nil
	}, "")
	plugin.Cycle(kubewasptest.Pod{Name: "web", Requests: kubewasptest.Resources{"gpu": "2", "late": "3"}}).Filter("a")
	if want := []int64{2, 1, 1, 2, 0, 3, 0}; !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

func TestNonZeroRequestsCountContainersThatAskForNothing(t *testing.T) {
	cluster := threeNodes()
	cluster.AddPod(kubewasptest.Pod{Name: "old", NodeName: "a"})
	plugin := kubewasptest.Load(t, cluster, made(scoreFunc(
		func(_ *kubewasp.CycleState, pod *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
			check(t, "the pod's memory", pod.NonZeroRequests(kubewasp.Memory), 200<<20)
			return node.NonZeroRequested(kubewasp.CPU) + pod.NonZeroRequests(kubewasp.CPU), kubewasp.Success()
		})), "")
	cycle := plugin.Cycle(kubewasptest.Pod{Name: "web"})
	check(t, "a", cycle.Score("a"), 200)
	check(t, "b", cycle.Score("b"), 100)
}

func TestAScoreThatIsTooLargeIsAnError(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(scoreFunc(
		func(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) (int64, kubewasp.Status) {
			return 1 << 31, kubewasp.Success()
		})), "")
	check(t, "code", plugin.Cycle(kubewasptest.Pod{Name: "web"}).ScoreStatus("a").Code, kubewasp.CodeError)
}

var digit = kubewasp.NewStateKey[string]()

// ranker scores by the pod's digit, which it keeps in the state, and has no PreFilter.
type ranker struct{ reverse bool }

func (ranker) PreScore(state *kubewasp.CycleState, pod *kubewasp.Pod, nodes *kubewasp.Nodes) kubewasp.Status {
	if _, found := digit.Lookup(state); found {
		return kubewasp.Failed("there is a state of another pod")
	}
	if nodes.Len() == 1 {
		return kubewasp.Skip()
	}
	digit.Set(state, pod.Name())
	return kubewasp.Success()
}

func (ranker) Score(state *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	if digit.Get(state) == node.Name() {
		return 5, kubewasp.Success()
	}
	return -5, kubewasp.Success()
}

func (r ranker) NormalizeScore(_ *kubewasp.CycleState, _ *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	scores.Stretch(r.reverse)
	return kubewasp.Success()
}

func TestScoresOfAPluginWithStateButWithoutPreFilter(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(ranker{}), "")
	for _, name := range []string{"b", "c", "b"} {
		check(t, "node", plugin.Schedule(kubewasptest.Pod{Name: name}).Node, name)
	}
	reverse := kubewasptest.Load(t, threeNodes(), made(ranker{reverse: true}), "")
	got := reverse.Cycle(kubewasptest.Pod{Name: "b"}).Scores()
	if want := map[string]int64{"a": 100, "b": 0, "c": 100}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := plugin.Cycle(kubewasptest.Pod{Name: "b"}).Scores("a"); len(got) != 0 {
		t.Errorf("a pod that was skipped has the scores %v", got)
	}
}

func TestNormalize(t *testing.T) {
	scores := kubewasp.NodeScores{Values: []int64{0, 5, 10, -3}}
	scores.Normalize(false)
	if want := []int64{0, 50, 100, 0}; !slices.Equal(scores.Values, want) {
		t.Errorf("got %v", scores.Values)
	}
	scores = kubewasp.NodeScores{Values: []int64{0, 0}}
	scores.Normalize(true)
	if want := []int64{100, 100}; !slices.Equal(scores.Values, want) {
		t.Errorf("got %v", scores.Values)
	}
	scores = kubewasp.NodeScores{Values: []int64{-1 << 63, 1<<63 - 1, 0}}
	scores.Stretch(false)
	if want := []int64{0, 100, 50}; !slices.Equal(scores.Values, want) {
		t.Errorf("got %v", scores.Values)
	}
}

func TestADeclaredNormalizationIsThatOfTheScheduler(t *testing.T) {
	for _, test := range []struct {
		declared     kubewasp.Normalization
		scores, want []int64
	}{
		{kubewasp.Normalization{Method: kubewasp.KeepScores}, []int64{3, -1}, []int64{3, -1}},
		{kubewasp.Normalization{Method: kubewasp.Proportional}, []int64{1, 3, -2}, []int64{33, 100, -66}},
		{kubewasp.Normalization{Method: kubewasp.Proportional, Reverse: true}, []int64{0, 1, 3}, []int64{100, 67, 0}},
		{kubewasp.Normalization{Method: kubewasp.Proportional}, []int64{0, -5}, []int64{0, -5}},
		{kubewasp.Normalization{Method: kubewasp.Proportional, Reverse: true}, []int64{0, -5}, []int64{100, 100}},
		{kubewasp.Normalization{Method: kubewasp.Proportional, Maximum: 10}, []int64{1, 3}, []int64{3, 10}},
		{kubewasp.Normalization{Method: kubewasp.MinMax, Reverse: true}, []int64{1, 2, 4}, []int64{100, 67, 0}},
		{kubewasp.Normalization{Method: kubewasp.MinMax}, []int64{7, 7}, []int64{100, 100}},
	} {
		given := slices.Clone(test.scores)
		if test.declared.Apply(given); !slices.Equal(given, test.want) {
			t.Errorf("%v of %v is %v, want %v", test.declared, test.scores, given, test.want)
		}
	}
}

type narrow struct{ nodes []string }

func (n narrow) PreFilter(*kubewasp.CycleState, *kubewasp.Pod) ([]string, kubewasp.Status) {
	return n.nodes, kubewasp.Success()
}

func TestPreFilterNarrowsTheNodes(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(narrow{[]string{"b", "c"}}), "")
	names, _ := plugin.PreFilter(kubewasptest.Pod{Name: "web"})
	if !slices.Equal(names, []string{"b", "c"}) {
		t.Errorf("got %q", names)
	}
	check(t, "node", plugin.Schedule(kubewasptest.Pod{Name: "web"}).Node, "b")
}

func TestPreFilterThatLeavesNoNodeTurnsThePodDown(t *testing.T) {
	_, status := kubewasptest.Load(t, threeNodes(), made(narrow{[]string{}}), "").PreFilter(kubewasptest.Pod{Name: "web"})
	check(t, "code", status.Code, kubewasp.CodeUnschedulableAndUnresolvable)
	names, status := kubewasptest.Load(t, threeNodes(), made(narrow{nil}), "").PreFilter(kubewasptest.Pod{Name: "web"})
	check(t, "code", status.Code, kubewasp.CodeSuccess)
	check(t, "all nodes", names == nil, true)
}

// spread counts pods on each node in its state, in a map that trials change in place.
type spread struct{}

type perNode map[string]int

func (p perNode) Clone() perNode { return maps.Clone(p) }

var onNodes = kubewasp.NewStateKey[perNode]()

func (spread) PreFilter(state *kubewasp.CycleState, _ *kubewasp.Pod) ([]string, kubewasp.Status) {
	onNodes.Set(state, perNode{})
	return nil, kubewasp.Success()
}

func (spread) AddPod(state *kubewasp.CycleState, _, added *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	onNodes.Get(state)[node.Name()+added.Name()]++
	return kubewasp.Success()
}

func (spread) RemovePod(state *kubewasp.CycleState, _, removed *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	onNodes.Get(state)[node.Name()+removed.Name()]--
	return kubewasp.Success()
}

func (spread) Filter(state *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if onNodes.Get(state)[node.Name()+"other"] > 0 {
		return kubewasp.Unschedulable("other is there")
	}
	return kubewasp.Success()
}

func TestATrialLeavesTheStateAsItWas(t *testing.T) {
	cycle := kubewasptest.Load(t, threeNodes(), made(spread{}), "").Cycle(kubewasptest.Pod{Name: "web"})
	other := kubewasptest.Pod{Name: "other"}
	cycle.Trial(func() {
		cycle.AddPod(other, "a")
		check(t, "in the trial", cycle.Filter("a").Reason, "other is there")
		cycle.Trial(func() {
			cycle.RemovePod(other, "a")
			check(t, "in a trial of the trial", cycle.Filter("a").IsSuccess(), true)
		})
		check(t, "after that", cycle.Filter("a").Reason, "other is there")
	})
	check(t, "after the trial", cycle.Filter("a").IsSuccess(), true)
}

type rescue struct{}

func (rescue) Filter(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) kubewasp.Status {
	return kubewasp.Unschedulable("full")
}

func (rescue) PostFilter(_ *kubewasp.CycleState, pod *kubewasp.Pod, statuses *kubewasp.NodeStatuses) (kubewasp.Nomination, kubewasp.Status) {
	if pod.Name() == "hopeless" {
		return kubewasp.ClearNomination(), kubewasp.Unschedulable("nothing helps")
	}
	for node, code := range statuses.All() {
		if code == kubewasp.CodeUnschedulable && node.Name() != "a" {
			return kubewasp.Nominate(node.Name()), kubewasp.Success()
		}
	}
	return kubewasp.Nomination{}, kubewasp.Unschedulable("nothing helps")
}

func TestPostFilterNominates(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(rescue{}), "")
	result := plugin.Schedule(kubewasptest.Pod{Name: "web"})
	check(t, "Nominated", result.Nominated, "b")
	check(t, "Node", result.Node, "")

	nomination, status := plugin.Cycle(kubewasptest.Pod{Name: "web"}).PostFilter(map[string]kubewasp.Code{"a": kubewasp.CodeUnschedulable})
	check(t, "nomination", nomination, kubewasp.Nomination{})
	check(t, "status", status, kubewasp.Unschedulable("nothing helps"))

	nomination, _ = plugin.Cycle(kubewasptest.Pod{Name: "hopeless"}).PostFilter(nil)
	check(t, "nomination", nomination, kubewasp.ClearNomination())
}

// gang lets pods with the same label go together: three, or none.
type gang struct{ handle *kubewasp.Handle }

func newGang(handle *kubewasp.Handle) (*gang, error) { return &gang{handle}, nil }

func (g *gang) Permit(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) (kubewasp.Status, time.Duration) {
	var waiting []*kubewasp.Pod
	for _, other := range g.handle.WaitingPods() {
		if other.Labels().Get("gang") == pod.Labels().Get("gang") {
			waiting = append(waiting, other)
		}
	}
	if len(waiting) < 2 {
		return kubewasp.Wait("waiting for the gang"), time.Minute
	}
	for _, other := range waiting {
		g.handle.AllowWaitingPod(other.UID())
	}
	return kubewasp.Success(), 0
}

func (g *gang) Unreserve(_ *kubewasp.CycleState, _ *kubewasp.Pod, _ *kubewasp.NodeInfo) {
	for _, other := range g.handle.WaitingPods() {
		g.handle.RejectWaitingPod(other.UID(), "the gang is incomplete")
	}
}

func TestAGangGoesTogether(t *testing.T) {
	cluster := threeNodes()
	plugin := kubewasptest.Load(t, cluster, newGang, "")
	member := func(name string) *kubewasptest.Result {
		return plugin.Schedule(kubewasptest.Pod{Name: name, Labels: map[string]string{"gang": "g"}})
	}
	first, second := member("one"), member("two")
	check(t, "first waits", first.Waiting && first.Timeout == time.Minute, true)
	check(t, "pods on a, where both wait to go", len(cluster.PodsOn("a")), 2)
	third := member("three")
	check(t, "all are placed", first.Node+second.Node+third.Node, "aaa")
	check(t, "somebody waits", first.Waiting || second.Waiting || third.Waiting, false)
	check(t, "pods on a", len(cluster.PodsOn("a")), 3)
}

func TestAGangThatStaysIncompleteIsTurnedDownAsAWhole(t *testing.T) {
	cluster := threeNodes()
	plugin := kubewasptest.Load(t, cluster, newGang, "")
	first := plugin.Schedule(kubewasptest.Pod{Name: "one"})
	cluster.Advance(30 * time.Second)
	second := plugin.Schedule(kubewasptest.Pod{Name: "two"})
	check(t, "waiting", len(plugin.Waiting()), 2)
	cluster.Advance(30 * time.Second)
	check(t, "waiting", len(plugin.Waiting()), 0)
	check(t, "first", first.Status, kubewasp.Unschedulable("rejected due to timeout after waiting 1m0s at plugin gang"))
	check(t, "second", second.Status, kubewasp.Unschedulable("the gang is incomplete"))
	check(t, "pods on a", len(cluster.PodsOn("a")), 0)
}

// lifecycle logs each hook of the binding cycle.
type lifecycle struct {
	handle *kubewasp.Handle
	fail   string
}

func newLifecycle(handle *kubewasp.Handle) (*lifecycle, error) {
	return &lifecycle{handle, handle.Config()}, nil
}

func (l *lifecycle) saw(hook string, node *kubewasp.NodeInfo) kubewasp.Status {
	l.handle.Log.Info(hook, "node", node.Name())
	if hook == l.fail {
		return kubewasp.FailedWith(errors.New(hook + " failed"))
	}
	return kubewasp.FailedWith(nil)
}

func (l *lifecycle) Reserve(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	return l.saw("reserve", node)
}

func (l *lifecycle) Unreserve(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) {
	l.saw("unreserve", node)
}

func (l *lifecycle) PreBind(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	return l.saw("prebind", node)
}

func (l *lifecycle) Bind(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if status := l.saw("bind", node); !status.IsSuccess() {
		return status
	}
	return kubewasp.Skip()
}

func (l *lifecycle) PostBind(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) {
	l.saw("postbind", node)
}

// gpuPicker takes the first index that no other pod of the node has.
type gpuPicker struct{ handle *kubewasp.Handle }

const gpuIndex = "example.com/gpu-index"

func (p gpuPicker) Reserve(_ *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	taken := map[string]bool{}
	for _, other := range node.Pods() {
		taken[other.Annotations().Get(gpuIndex)] = true
	}
	for _, index := range []string{"0", "1"} {
		if !taken[index] {
			p.handle.Annotate(gpuIndex, index)
			return kubewasp.Success()
		}
	}
	return kubewasp.Unschedulable("all GPUs are taken")
}

func (p gpuPicker) PreBind(_ *kubewasp.CycleState, pod *kubewasp.Pod, _ *kubewasp.NodeInfo) kubewasp.Status {
	p.handle.Annotate("example.com/bound", pod.Name())
	if pod.Labels().Get("fails") != "" {
		return kubewasp.Failed("no")
	}
	return kubewasp.Success()
}

func TestAnnotationsGoWithTheBinding(t *testing.T) {
	cluster := kubewasptest.NewCluster(kubewasptest.Node{Name: "a"})
	plugin := kubewasptest.Load(t, cluster, func(handle *kubewasp.Handle) (gpuPicker, error) {
		return gpuPicker{handle}, nil
	}, "")
	for _, want := range []map[string]string{{gpuIndex: "0", "example.com/bound": "first"}, {gpuIndex: "1", "example.com/bound": "second"}} {
		result := plugin.Schedule(kubewasptest.Pod{Name: want["example.com/bound"]})
		if !maps.Equal(result.Annotations, want) {
			t.Errorf("annotations are %v, want %v", result.Annotations, want)
		}
	}
	check(t, "third", plugin.Schedule(kubewasptest.Pod{Name: "third"}).Status, kubewasp.Unschedulable("all GPUs are taken"))
}

func TestAnnotationsOfAFailedAttemptAreDropped(t *testing.T) {
	cluster := kubewasptest.NewCluster(kubewasptest.Node{Name: "a"})
	plugin := kubewasptest.Load(t, cluster, func(handle *kubewasp.Handle) (gpuPicker, error) {
		return gpuPicker{handle}, nil
	}, "")
	result := plugin.Schedule(kubewasptest.Pod{Name: "web", Labels: map[string]string{"fails": "yes"}})
	check(t, "Annotations", len(result.Annotations), 0)
	check(t, "next", plugin.Schedule(kubewasptest.Pod{Name: "next"}).Annotations[gpuIndex], "0")
}

func TestTheBindingCycle(t *testing.T) {
	for fail, want := range map[string]string{
		"":        `I "reserve" node="a",I "prebind" node="a",I "bind" node="a",I "postbind" node="a"`,
		"reserve": `I "reserve" node="a",I "unreserve" node="a"`,
		"prebind": `I "reserve" node="a",I "prebind" node="a",I "unreserve" node="a"`,
		"bind":    `I "reserve" node="a",I "prebind" node="a",I "bind" node="a",I "unreserve" node="a"`,
	} {
		plugin := kubewasptest.Load(t, threeNodes(), newLifecycle, fail)
		result := plugin.Schedule(kubewasptest.Pod{Name: "web"})
		check(t, "log", strings.Join(plugin.Logs(), ","), want)
		check(t, "bound", result.Node == "a", fail == "")
		if fail != "" {
			check(t, "status", result.Status, kubewasp.Failed(fail+" failed"))
		}
	}
}

// queue has the hooks around the scheduling queue.
type queue struct{}

func (queue) EventsToRegister() []kubewasp.ClusterEvent {
	return []kubewasp.ClusterEvent{{Resource: kubewasp.EventNode, Actions: kubewasp.Add | kubewasp.UpdateNodeLabel}}
}

func (queue) PreEnqueue(pod *kubewasp.Pod) kubewasp.Status {
	if pod.Annotations().Has("hold") {
		return kubewasp.Unresolvable("on hold")
	}
	return kubewasp.Success()
}

func (queue) SortKey(pod *kubewasp.Pod, queuedAt time.Time) kubewasp.Key {
	return kubewasp.Key{}.IntDesc(int64(pod.Priority())).Time(queuedAt)
}

func (queue) QueueingHint(pod *kubewasp.Pod, change *kubewasp.Change) kubewasp.Hint {
	switch {
	case change.NewPod() != nil || change.OldPod() != nil:
		return kubewasp.QueueSkip
	case change.OldNode() != nil && change.OldNode().Labels().Get("zone") == change.NewNode().Labels().Get("zone"):
		return kubewasp.QueueSkip
	case change.NewNode().Labels().Get("zone") == pod.NodeSelector().Get("zone"):
		return kubewasp.Queue
	}
	return kubewasp.QueueSkip
}

func TestTheQueue(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(queue{}), "")
	check(t, "events", plugin.RegisteredEvents()[0], queue{}.EventsToRegister()[0])
	check(t, "held", plugin.PreEnqueue(kubewasptest.Pod{Annotations: map[string]string{"hold": ""}}), kubewasp.Unresolvable("on hold"))
	check(t, "not held", plugin.PreEnqueue(kubewasptest.Pod{}), kubewasp.Success())
	order := plugin.QueueOrder(kubewasptest.Pod{Name: "low"}, kubewasptest.Pod{Name: "high", Priority: 9}, kubewasptest.Pod{Name: "late"})
	if !slices.Equal(order, []string{"high", "low", "late"}) {
		t.Errorf("the order is %q", order)
	}

	pod := kubewasptest.Pod{NodeSelector: map[string]string{"zone": "x"}}
	in := func(zone string) kubewasptest.Node {
		return kubewasptest.Node{Name: "n", Labels: map[string]string{"zone": zone}}
	}
	check(t, "new node", plugin.QueueingHint(pod, kubewasptest.NodeAdded(in("x"))), kubewasp.Queue)
	check(t, "other node", plugin.QueueingHint(pod, kubewasptest.NodeAdded(in("y"))), kubewasp.QueueSkip)
	check(t, "moved node", plugin.QueueingHint(pod, kubewasptest.NodeChanged(in("y"), in("x"), kubewasp.UpdateNodeLabel)), kubewasp.Queue)
	check(t, "same zone", plugin.QueueingHint(pod, kubewasptest.NodeChanged(in("x"), in("x"), kubewasp.UpdateNodeLabel)), kubewasp.QueueSkip)
	check(t, "pod", plugin.QueueingHint(pod, kubewasptest.PodDeleted(pod)), kubewasp.QueueSkip)
}

type signed struct{ filterFunc }

func (signed) SignPod(pod *kubewasp.Pod) uint64 {
	return kubewasp.NewHasher().String(pod.Namespace()).Sum()
}

func TestPodsAreSigned(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), made(signed{}), "")
	one := plugin.Signature(kubewasptest.Pod{Name: "one"})
	check(t, "alike", one != 0 && one == plugin.Signature(kubewasptest.Pod{Name: "two"}), true)
	check(t, "other namespace", plugin.Signature(kubewasptest.Pod{Name: "one", Namespace: "other"}) == one, false)
	if got := plugin.Hooks(); !slices.Equal(got, []string{"filter", "signpod"}) {
		t.Errorf("the hooks are %q", got)
	}
}

func TestAllPodsAreSignedAtOnce(t *testing.T) {
	plugin := kubewasptest.Load(t, threeNodes(), func(handle *kubewasp.Handle) (filterFunc, error) {
		handle.SignAllPods()
		return nil, nil
	}, "")
	check(t, "signed", plugin.Signature(kubewasptest.Pod{}) != 0, true)
	if got := plugin.Hooks(); !slices.Equal(got, []string{"filter"}) {
		t.Errorf("the hooks are %q", got)
	}
}

func TestAPluginThatCannotBeUsedIsNotLoaded(t *testing.T) {
	fails := func(*kubewasp.Handle) (rescue, error) { return rescue{}, errors.New("no licence") }
	check(t, "error", kubewasptest.LoadError(t, threeNodes(), fails, "").Error(), "no licence")
	empty := kubewasptest.LoadError(t, threeNodes(), made(struct{}{}), "")
	check(t, "tells what to do", strings.Contains(empty.Error(), "implements no extension point"), true)
	none := kubewasptest.LoadError(t, threeNodes(), made[any](nil), "")
	check(t, "error", none.Error(), "the plugin is nil")
}

type settings struct {
	filterFunc `json:"-"`
	Limit      int               `json:"limit"`
	Zones      map[string]string `json:"zones"`
}

func newSettings(handle *kubewasp.Handle) (*settings, error) {
	plugin := &settings{Limit: 3}
	return plugin, handle.DecodeConfig(plugin)
}

func TestConfigErrorsSayWhatIsWrong(t *testing.T) {
	for config, want := range map[string]string{
		`{"limt": 1}`:      `config: unknown field "limt"`,
		`{"limit": "one"}`: `config: limit: expected an integer, got a text`,
		`{"limit": 1.5}`:   `config: limit: expected an integer, got 1.5`,
		`{"limit": [1]}`:   `config: limit: expected an integer, got a list`,
		`[]`:               `config: expected an object, got a list`,
		`{"limit": 1`:      `config: the JSON is cut off`,
		`{} {}`:            `config: more than one value`,
		`limit: 1`:         `config: invalid character 'l' looking for beginning of value`,
	} {
		err := kubewasptest.LoadError(t, threeNodes(), newSettings, config)
		if err == nil {
			t.Errorf("%s is taken", config)
		} else {
			check(t, config, err.Error(), want)
		}
	}
	for _, config := range []string{"", " \n", "{}", `{"zones": {"a": "b"}}`} {
		if err := kubewasptest.LoadError(t, threeNodes(), newSettings, config); err != nil {
			t.Errorf("%q: %v", config, err)
		}
	}
}

func TestTheHandle(t *testing.T) {
	cluster := threeNodes()
	cluster.RemoveNode("b")
	var handle *kubewasp.Handle
	plugin := kubewasptest.Load(t, cluster, func(given *kubewasp.Handle) (filterFunc, error) {
		handle = given
		return nil, nil
	}, "text")

	check(t, "Config", handle.Config(), "text")
	check(t, "Now", handle.Now(), cluster.Now())
	cluster.Advance(time.Hour)
	check(t, "Now", handle.Now(), cluster.Now())
	var names string
	for node := range handle.Nodes() {
		names += node.Name()
	}
	check(t, "Nodes", names, "ac")
	check(t, "Node", handle.Node("c").Allocatable(kubewasp.CPU), 2000)
	check(t, "Node", handle.Node("b"), nil)
	check(t, "allow", handle.AllowWaitingPod("nobody"), false)

	handle.Log.Info("plain")
	handle.Log.Warning("with \"quotes\"", "int", 1, "float", 1.5, "error", errors.New("e"), "time", time.Second,
		"pod", kubewasp.NewPod(kubewasptest.Pod{Name: "p"}.Encode()), "node", handle.Node("c"), "nil", nil, "nul", "a\x00b", "odd")
	handle.Log.Error("bad", "list", []int{1})
	want := []string{
		"I plain",
		`W "with \"quotes\"" int="1" float="1.5" error="e" time="1s" pod="default/p" node="c" nil="<nil>" nul="a�b" odd="(MISSING)"`,
		`E "bad" list="(a value that cannot be logged as it is)"`,
	}
	if got := plugin.Logs(); !slices.Equal(got, want) {
		t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	pod := kubewasp.NewPod(kubewasptest.Pod{Name: "p"}.Encode())
	handle.Eventf(pod.Reference(), kubewasp.EventTypeWarning, "Held", "Scheduling", "%d \"of\" %s\n\t\\ \x01 é \xff", 1, "all")
	handle.Record(kubewasp.Event{Regarding: handle.Node("c").Reference(), Note: "x"})
	check(t, "event", plugin.Events()[0], kubewasp.Event{
		Regarding: pod.Reference(), Type: "Warning", Reason: "Held", Action: "Scheduling", Note: "1 \"of\" all\n\t\\ \x01 é �"})
	check(t, "event", plugin.Events()[1].Type, "Normal")
	check(t, "event", plugin.Events()[1].Regarding.Kind, "Node")
}

func TestTestsMayRunAtTheSameTime(t *testing.T) {
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugin := kubewasptest.Load(t, threeNodes(), made(ranker{}), "")
			for range 100 {
				check(t, "node", plugin.Schedule(kubewasptest.Pod{Name: name}).Node, name)
			}
		})
	}
}
