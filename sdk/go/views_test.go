//go:build !wasip1

package kubewasp_test

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/kubewasptest"
)

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestPodHasTheFieldsOfTheObject(t *testing.T) {
	seconds, grace := int64(60), 5*time.Second
	pod := kubewasp.NewPod(kubewasptest.Pod{
		Name: "web", Namespace: "shop", UID: "u-1",
		Labels: map[string]string{"app": "web", "tier": "front"}, Annotations: map[string]string{"note": "x"},
		CreationTimestamp: created,
		OwnerReferences:   []kubewasp.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "u-2", Controller: true}},
		NodeName:          "a", SchedulerName: "kubewasp", Priority: -5, PriorityClassName: "low", PreemptionPolicy: "Never",
		NodeSelector: map[string]string{"zone": "z"}, HostNetwork: true,
		Tolerations: []kubewasp.Toleration{{Key: "spot", Operator: "Exists", Effect: kubewasp.NoSchedule, Seconds: &seconds}},
		Overhead:    kubewasptest.Resources{"cpu": "10m"}, SchedulingGates: []string{"quota"},
		TerminationGracePeriod: &grace, Phase: "Pending", NominatedNodeName: "b",
		Containers: []kubewasptest.Container{{
			Name: "main", Image: "nginx:1", Requests: kubewasptest.Resources{"cpu": "500m"}, Limits: kubewasptest.Resources{"memory": "1Gi"},
			Ports: []kubewasp.Port{{Name: "http", ContainerPort: 80, HostPort: 8080, HostIP: "::1", Protocol: "TCP"}},
		}},
		InitContainers: []kubewasptest.Container{{Name: "init", Sidecar: true}},
	}.Encode())

	check(t, "Name", pod.Name(), "web")
	check(t, "Namespace", pod.Namespace(), "shop")
	check(t, "UID", pod.UID(), "u-1")
	check(t, "Labels", pod.Labels().Get("tier"), "front")
	check(t, "Labels", pod.Labels().Len(), 2)
	check(t, "Annotations", pod.Annotations().Get("note"), "x")
	check(t, "CreationTimestamp", pod.CreationTimestamp(), created)
	check(t, "DeletionTimestamp", pod.DeletionTimestamp(), time.Time{})
	check(t, "OwnerReferences", pod.OwnerReferences()[0], kubewasp.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "u-2", Controller: true})
	check(t, "NodeName", pod.NodeName(), "a")
	check(t, "SchedulerName", pod.SchedulerName(), "kubewasp")
	check(t, "Priority", pod.Priority(), -5)
	check(t, "PriorityClassName", pod.PriorityClassName(), "low")
	check(t, "PreemptionPolicy", pod.PreemptionPolicy(), "Never")
	check(t, "NodeSelector", pod.NodeSelector().Get("zone"), "z")
	check(t, "HostNetwork", pod.HostNetwork(), true)
	check(t, "Tolerations", *pod.Tolerations()[0].Seconds, 60)
	check(t, "Overhead", pod.Overhead().Get("cpu"), "10m")
	check(t, "SchedulingGates", pod.SchedulingGates()[0], "quota")
	check(t, "TerminationGracePeriod", pod.TerminationGracePeriod(), grace)
	check(t, "Phase", pod.Phase(), "Pending")
	check(t, "NominatedNodeName", pod.NominatedNodeName(), "b")
	check(t, "Image", pod.Containers()[0].Image(), "nginx:1")
	check(t, "Requests", pod.Containers()[0].Requests().Get("cpu").MilliValue(), 500)
	check(t, "Limits", pod.Containers()[0].Limits().Get("memory").Value(), 1<<30)
	check(t, "Ports", pod.Containers()[0].Ports()[0], kubewasp.Port{Name: "http", ContainerPort: 80, HostPort: 8080, HostIP: "::1", Protocol: "TCP"})
	check(t, "IsSidecar", pod.InitContainers()[0].IsSidecar(), true)
	check(t, "Reference", pod.Reference(), kubewasp.ObjectReference{Kind: "Pod", APIVersion: "v1", Name: "web", Namespace: "shop", UID: "u-1"})
	check(t, "Proto", pod.Proto().Sub(2).Text(10), "a")
}

func TestNodeHasTheFieldsOfTheObject(t *testing.T) {
	node := kubewasp.NewNode(kubewasptest.Node{
		Name: "a", UID: "u-1", Labels: map[string]string{"zone": "z"}, Annotations: map[string]string{"note": "x"},
		CreationTimestamp: created, Unschedulable: true, ProviderID: "cloud://1",
		Taints:      []kubewasp.Taint{{Key: "spot", Value: "yes", Effect: kubewasp.NoSchedule, TimeAdded: created}},
		Allocatable: kubewasptest.Resources{"cpu": "4"}, Capacity: kubewasptest.Resources{"cpu": "5"},
		Conditions: []kubewasp.NodeCondition{{Type: "Ready", Status: "True", Reason: "r", Message: "m", LastTransitionTime: created}},
		Addresses:  []kubewasp.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}},
		Images:     []kubewasp.Image{{Names: []string{"nginx:1", "nginx@sha"}, SizeBytes: 1000}},
	}.Encode())

	check(t, "Name", node.Name(), "a")
	check(t, "UID", node.UID(), "u-1")
	check(t, "Labels", node.Labels().Get("zone"), "z")
	check(t, "Annotations", node.Annotations().Get("note"), "x")
	check(t, "CreationTimestamp", node.CreationTimestamp(), created)
	check(t, "Unschedulable", node.Unschedulable(), true)
	check(t, "ProviderID", node.ProviderID(), "cloud://1")
	check(t, "Taints", node.Taints()[0], kubewasp.Taint{Key: "spot", Value: "yes", Effect: kubewasp.NoSchedule, TimeAdded: created})
	check(t, "AllocatableQuantities", node.AllocatableQuantities().Get("cpu"), "4")
	check(t, "CapacityQuantities", node.CapacityQuantities().Get("cpu"), "5")
	check(t, "Conditions", node.Conditions()[0], kubewasp.NodeCondition{Type: "Ready", Status: "True", Reason: "r", Message: "m", LastTransitionTime: created})
	check(t, "Condition", node.Condition("Ready"), "True")
	check(t, "Condition", node.Condition("DiskPressure"), "")
	check(t, "Addresses", node.Addresses()[0].Address, "10.0.0.1")
	check(t, "Images", node.Images()[0].SizeBytes, 1000)
	check(t, "Images", node.Images()[0].Names[1], "nginx@sha")
	check(t, "Reference", node.Reference(), kubewasp.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "a", UID: "u-1"})
	check(t, "Proto", node.Proto().Sub(1).Text(1), "a")
}

func TestAnEmptyObjectHasZeroValues(t *testing.T) {
	pod, node := kubewasp.NewPod(""), kubewasp.NewNode("")
	check(t, "Name", pod.Name(), "")
	check(t, "Labels", pod.Labels().Has("x"), false)
	check(t, "Containers", len(pod.Containers()), 0)
	check(t, "Requests", pod.Requests(kubewasp.CPU), 0)
	check(t, "TerminationGracePeriod", pod.TerminationGracePeriod(), 30*time.Second)
	check(t, "Name", node.Name(), "")
	check(t, "Taints", len(node.Taints()), 0)
	check(t, "Unschedulable", node.Unschedulable(), false)
}

func TestRequestsCountAsTheSchedulerDoes(t *testing.T) {
	cpu := func(amount string) kubewasptest.Resources { return kubewasptest.Resources{"cpu": amount} }
	for name, test := range map[string]struct {
		pod  kubewasptest.Pod
		want int64
	}{
		"containers add up": {kubewasptest.Pod{Containers: []kubewasptest.Container{{Requests: cpu("1")}, {Requests: cpu("500m")}}}, 1500},
		"a large init container counts alone": {kubewasptest.Pod{
			Requests: cpu("1"), InitContainers: []kubewasptest.Container{{Requests: cpu("3")}, {Requests: cpu("2")}}}, 3000},
		"sidecars run beside all that comes later": {kubewasptest.Pod{
			Requests: cpu("1"), InitContainers: []kubewasptest.Container{{Requests: cpu("1"), Sidecar: true}, {Requests: cpu("2")}}}, 3000},
		"and beside the containers": {kubewasptest.Pod{
			Requests: cpu("2"), InitContainers: []kubewasptest.Container{{Requests: cpu("1"), Sidecar: true}}}, 3000},
		"overhead comes on top":               {kubewasptest.Pod{Requests: cpu("1"), Overhead: cpu("250m")}, 1250},
		"what the pod asks for as one counts": {kubewasptest.Pod{Requests: cpu("1"), PodRequests: cpu("4")}, 4000},
	} {
		if got := kubewasp.NewPod(test.pod.Encode()).Requests(kubewasp.CPU); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

func TestTolerations(t *testing.T) {
	taint := kubewasp.Taint{Key: "spot", Value: "yes", Effect: kubewasp.NoSchedule}
	for toleration, want := range map[kubewasp.Toleration]bool{
		{Key: "spot", Value: "yes"}:                                    true,
		{Key: "spot", Operator: "Equal", Value: "no"}:                  false,
		{Key: "spot", Operator: "Exists"}:                              true,
		{Key: "spot", Operator: "Exists", Effect: kubewasp.NoExecute}:  false,
		{Key: "spot", Operator: "Exists", Effect: kubewasp.NoSchedule}: true,
		{Key: "other", Operator: "Exists"}:                             false,
		{Operator: "Exists"}:                                           true,
		{Key: "spot", Operator: "Unknown", Value: "yes"}:               false,
	} {
		pod := kubewasp.NewPod(kubewasptest.Pod{Tolerations: []kubewasp.Toleration{toleration}}.Encode())
		check(t, toleration.Key+" "+toleration.Operator+" "+toleration.Effect, pod.Tolerates(taint), want)
	}
}

func TestMaps(t *testing.T) {
	labels := func(entries map[string]string) kubewasp.Map[string] {
		return kubewasp.NewPod(kubewasptest.Pod{Labels: entries}.Encode()).Labels()
	}
	all := labels(map[string]string{"a": "1", "b": "2", "empty": ""})
	check(t, "Has", all.Has("empty"), true)
	check(t, "Has", all.Has("c"), false)
	check(t, "Matches", all.Matches(labels(map[string]string{"a": "1", "b": "2"})), true)
	check(t, "Matches", all.Matches(labels(map[string]string{"a": "2"})), false)
	check(t, "Matches", all.Matches(labels(map[string]string{"c": ""})), false)
	check(t, "Matches", all.Matches(labels(nil)), true)
	var keys []string
	for key := range all.All() {
		keys = append(keys, key)
		if len(keys) == 2 {
			break
		}
	}
	if !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("the first keys are %q", keys)
	}
}

func TestAMapRemembersWhatItWasAskedByContent(t *testing.T) {
	labels := kubewasp.NewNode(kubewasptest.Node{Labels: map[string]string{"aa": "1", "bb": "2"}}.Encode()).Labels()
	key := []byte("aa")
	asked := unsafe.String(&key[0], len(key))
	check(t, "aa", labels.Get(asked), "1")
	copy(key, "bb") // another text at the same place, as after garbage collection
	check(t, "bb", labels.Get(asked), "2")
	copy(key, "cc")
	check(t, "cc", labels.Has(asked), false)
	check(t, "empty", labels.Has(""), false)
	for range 3 {
		for key, want := range map[string]string{"aa": "1", "bb": "2", "cc": "", "dd": "", "ee": "", "ff": ""} {
			check(t, key, labels.Get(key), want)
		}
	}
}

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
