package kubewasp

// NodeInfo is a node with its resource totals and its pods. It has all methods of Node.
//
// Each row of the scheduler's table has one NodeInfo, which is reused. It shows the node at the time of the hook call;
// keep its values, not the NodeInfo itself.
type NodeInfo struct {
	Node
	// In the order of the host: generation of the object, generation of the whole, non-zero requested CPU and memory, then
	// allocatable and requested per resource.
	numbers        []int64
	pods           []*Pod
	podsGeneration int64
	podBytes       int
}

const (
	infoObject = iota
	infoAll
	infoNonZeroCPU
	infoNonZeroMemory
	infoResources
)

// maxPodBytes limits the memory for pods on nodes: 100,000 pods would not fit into a guest.
const maxPodBytes = 32 << 20

// Row returns the index of the node in the scheduler's table, a small number from 0. The row of a deleted node may be
// reused.
func (i *NodeInfo) Row() int { return i.row }

// Allocatable returns the allocatable amount of a resource.
func (i *NodeInfo) Allocatable(resource Resource) int64 {
	return i.number(infoResources - 2 + 2*int(resource.number))
}

// Requested returns the sum of the requests of all pods on the node.
func (i *NodeInfo) Requested(resource Resource) int64 {
	return i.number(infoResources - 1 + 2*int(resource.number))
}

// Free returns the allocatable minus the requested amount of a resource.
func (i *NodeInfo) Free(resource Resource) int64 {
	return i.Allocatable(resource) - i.Requested(resource)
}

// NonZeroRequested is like Requested, with a small default for containers that request no CPU or memory. It is meant for
// scores. For other resources it equals Requested.
func (i *NodeInfo) NonZeroRequested(resource Resource) int64 {
	switch {
	case len(i.numbers) == 0:
		return 0
	case resource == CPU:
		return i.numbers[infoNonZeroCPU]
	case resource == Memory:
		return i.numbers[infoNonZeroMemory]
	}
	return i.Requested(resource)
}

// PodCount returns the number of pods on the node.
func (i *NodeInfo) PodCount() int { return int(i.Requested(Pods)) }

func (i *NodeInfo) number(place int) int64 {
	if place < len(i.numbers) && place >= infoResources {
		return i.numbers[place]
	}
	return i.lateNumber(place)
}

// lateNumber returns the amount of a resource registered after the numbers were read.
func (i *NodeInfo) lateNumber(place int) int64 {
	if i.guest == nil || i.row < 0 || place < infoResources || place >= i.guest.numbersCount() {
		return 0
	}
	numbers := make([]int64, i.guest.numbersCount())
	if i.guest.host.NodeInfo(i.row, numbers) == 0 {
		return 0
	}
	i.numbers = numbers
	return numbers[place]
}

// Pods returns the pods on the node. They are read on first use and kept until a pod is added, removed or changed.
func (i *NodeInfo) Pods() []*Pod {
	if i.guest == nil || len(i.numbers) == 0 {
		return nil
	}
	if i.podBytes > 0 && i.podsGeneration == i.numbers[infoAll] {
		return i.pods
	}
	i.forgetPods()
	list := i.guest.readRow(i.guest.host.NodePods, i.row)
	pods := podsOf(list)
	// At least 1, as a mark of a list that exists but is empty.
	if size := len(list) + 1; i.guest.podBytes+size <= maxPodBytes {
		i.guest.podBytes += size
		i.pods, i.podBytes, i.podsGeneration = pods, size, i.numbers[infoAll]
	}
	return pods
}

func (i *NodeInfo) forgetPods() {
	i.guest.podBytes -= i.podBytes
	i.pods, i.podBytes = nil, 0
}

// podsOf decodes the body of a PodList.
func podsOf(list Message) []*Pod {
	const items = 2
	count := list.count(items)
	if count == 0 {
		return nil
	}
	views, pods := make([]Pod, count), make([]*Pod, 0, count)
	for item := range list.Subs(items) {
		pod := &views[len(pods)]
		pod.read(item)
		pods = append(pods, pod)
	}
	return pods
}

// NodeCache caches a derived value per node, e.g. a number parsed from a label, until the node changes. Create it once,
// with the plugin:
//
//	prices := kubewasp.NewNodeCache(func(node *kubewasp.NodeInfo) int64 { return price(node.Labels().Get("price")) })
type NodeCache[T any] struct {
	make    func(*NodeInfo) T
	place   int // index of the generation to compare
	entries []cached[T]
}

type cached[T any] struct {
	value      T
	generation int64
	known      bool
}

// NewNodeCache returns a cache of a value that depends on the Node object only: labels, taints, images, capacity.
func NewNodeCache[T any](make func(*NodeInfo) T) *NodeCache[T] {
	return &NodeCache[T]{make: make, place: infoObject}
}

// NewNodeInfoCache returns a cache of a value that also depends on the pods on the node or on their requests.
func NewNodeInfoCache[T any](make func(*NodeInfo) T) *NodeCache[T] {
	return &NodeCache[T]{make: make, place: infoAll}
}

// Get returns the value for the node, computed now if the node is new or changed.
func (c *NodeCache[T]) Get(node *NodeInfo) T {
	if len(node.numbers) == 0 {
		return c.make(node)
	}
	generation := node.numbers[c.place]
	if node.row < len(c.entries) {
		if entry := &c.entries[node.row]; entry.known && entry.generation == generation {
			return entry.value
		}
	}
	value := c.make(node)
	if missing := node.row + 1 - len(c.entries); missing > 0 {
		c.entries = append(c.entries, make([]cached[T], missing)...)
	}
	c.entries[node.row] = cached[T]{value, generation, true}
	return value
}
