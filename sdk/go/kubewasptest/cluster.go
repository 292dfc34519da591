//go:build !wasip1

package kubewasptest

import (
	"slices"
	"time"

	kubewasp "kubewasp.dev/sdk"
	"kubewasp.dev/sdk/internal/bridge"
)

// Cluster is a fake cluster: nodes, their pods, and a clock. It may change between calls of a plugin.
type Cluster struct {
	now        time.Time
	rows       []*row
	generation int64
}

// row is a row of the scheduler's node table; empty after the removal of its node.
type row struct {
	present         bool
	node            Node
	object          kubewasp.Message
	pods            []placed
	objectVersion   int64
	completeVersion int64
}

type placed struct {
	pod     Pod
	encoded kubewasp.Message
}

// NewCluster returns a cluster of these nodes. Its clock starts at noon on 1 January 2026 (UTC).
func NewCluster(nodes ...Node) *Cluster {
	cluster := &Cluster{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	for _, node := range nodes {
		cluster.SetNode(node)
	}
	return cluster
}

// Now returns the time of the cluster's clock.
func (c *Cluster) Now() time.Time { return c.now }

// SetNow sets the clock.
func (c *Cluster) SetNow(now time.Time) { c.now = now }

// Advance advances the clock.
func (c *Cluster) Advance(by time.Duration) { c.now = c.now.Add(by) }

// SetNode adds a node, or replaces the node with this name.
func (c *Cluster) SetNode(node Node) {
	at := c.row(node.Name)
	if at < 0 {
		at = slices.IndexFunc(c.rows, func(r *row) bool { return !r.present })
	}
	if at < 0 {
		c.rows = append(c.rows, new(row))
		at = len(c.rows) - 1
	}
	c.generation++
	r := c.rows[at]
	r.present, r.node, r.object = true, node, node.Encode()
	r.objectVersion, r.completeVersion = c.generation, c.generation
}

// RemoveNode removes a node and the pods on it.
func (c *Cluster) RemoveNode(name string) {
	if at := c.row(name); at >= 0 {
		c.rows[at] = new(row)
	}
}

// AddPod adds a pod to its node, NodeName. It panics if there is no such node.
func (c *Cluster) AddPod(pod Pod) {
	at := c.row(pod.NodeName)
	if at < 0 {
		panic("kubewasptest: pod " + pod.Name + ": there is no node \"" + pod.NodeName + "\"")
	}
	pod = pod.withDefaults()
	c.change(at)
	c.rows[at].pods = append(c.rows[at].pods, placed{pod, pod.Encode()})
}

// RemovePod removes a pod from its node. The namespace is optional if it is "default".
func (c *Cluster) RemovePod(pod Pod) {
	uid := pod.withDefaults().UID
	for at, r := range c.rows {
		kept := slices.DeleteFunc(slices.Clone(r.pods), func(p placed) bool { return p.pod.UID == uid })
		if len(kept) < len(r.pods) {
			c.change(at)
			r.pods = kept
		}
	}
}

// PodsOn returns the names of the pods on a node, in the order of their arrival.
func (c *Cluster) PodsOn(node string) []string {
	var names []string
	if at := c.row(node); at >= 0 {
		for _, p := range c.rows[at].pods {
			names = append(names, p.pod.Name)
		}
	}
	return names
}

func (c *Cluster) change(at int) {
	c.generation++
	c.rows[at].completeVersion = c.generation
}

func (c *Cluster) row(name string) int {
	return slices.IndexFunc(c.rows, func(r *row) bool { return r.present && r.node.Name == name })
}

// present returns the rows with a node.
func (c *Cluster) present() []int32 {
	var rows []int32
	for at, r := range c.rows {
		if r.present {
			rows = append(rows, int32(at))
		}
	}
	return rows
}

// numbers returns the resource totals of a node, by resource name.
func (r *row) numbers(resources []string) []int64 {
	numbers := []int64{r.objectVersion, r.completeVersion, 0, 0}
	views := make([]*kubewasp.Pod, len(r.pods))
	for i, p := range r.pods {
		views[i] = kubewasp.NewPod(p.encoded)
		cpu, memory := nonZero(views[i])
		numbers[2] += cpu
		numbers[3] += memory
	}
	for _, name := range resources {
		allocatable, requested := kubewasp.Quantity(r.node.Allocatable[name]), int64(0)
		if name == "pods" && allocatable == "" {
			allocatable = "110"
		}
		for _, pod := range views {
			requested += request(pod, name)
		}
		numbers = append(numbers, amount(allocatable, name), requested)
	}
	return numbers
}

func amount(quantity kubewasp.Quantity, resource string) int64 {
	if resource == "cpu" {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func request(pod *kubewasp.Pod, resource string) int64 {
	return bridge.Requests(string(pod.Proto()), resource)
}

// nonZero returns the requests of a pod, with defaults of 100 millicores and 200 MiB for containers without requests.
func nonZero(pod *kubewasp.Pod) (cpu, memory int64) {
	cpu, memory = pod.Requests(kubewasp.CPU), pod.Requests(kubewasp.Memory)
	for _, container := range pod.Containers() {
		if !container.Requests().Has("cpu") {
			cpu += 100
		}
		if !container.Requests().Has("memory") {
			memory += 200 << 20
		}
	}
	return cpu, memory
}
